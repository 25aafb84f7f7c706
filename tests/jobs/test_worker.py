"""Workers that stop, die or lose their database, and what becomes of the jobs that they were at."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from engram import Engram
from engram.db.database import driver
from engram.jobs.schemas import Job, JobStatus
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened
from tests.jobs.working import WAIT_SECONDS, until, until_the_queue_is_empty, working

RUN = "import sys; from engram.jobs import worker; worker.LOOK_SECONDS = 0.2; from engram.cli.main import main; "
RUN += "sys.exit(main(sys.argv[1:]))"


class Process:
    """A command in a process of its own, with what it says on stderr in a file."""

    def __init__(self, folder: Path, command: str, **settings: object) -> None:
        self._said = folder / f"{uuid4().hex}.log"
        environment = {f"ENGRAM_{name.upper()}": str(value) for name, value in settings.items()}
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-c", RUN, command],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
                stderr=said,
            )

    def hear(self, text: str) -> str:
        """The first line that has this text, once it is there. Fails where the process ends without."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            ended = self._process.poll() is not None
            for line in self._said.read_text().splitlines():
                if text in line:
                    return line
            if ended:
                break
            time.sleep(0.05)
        raise AssertionError(self._said.read_text())

    def end(self, number: signal.Signals) -> int:
        """Send a signal; the exit status."""
        self._process.send_signal(number)
        return self._process.wait(WAIT_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


Begin = Callable[..., Process]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """``begin("worker", job_attempts=3)``: a process that ends with the test."""
    processes: list[Process] = []

    def begin(command: str, **settings: object) -> Process:
        processes.append(Process(tmp_path, command, **settings))
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()


@asynccontextmanager
async def last_memory_held(space: Space) -> AsyncIterator[None]:
    """Whoever goes through the memories of an agent comes to the last batch, and waits there."""
    async with space.services.database.transaction() as connection:
        await driver(connection).execute(
            "SELECT FROM memories WHERE agent_id = $1 ORDER BY id DESC LIMIT 1 FOR UPDATE", UUID(space.agent_id)
        )
        yield


async def progressed(services: Services, job: Job) -> Job:
    """The job, once its first batch is noted."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not (found := await services.jobs.get(DEFAULT_SCOPE, job.id)).done:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return found


async def large_space(services: Services) -> Space:
    space = await new_space(services)
    # The last is near none of the others: whoever links to a memory waits for who changes it.
    alike = [f"Memory number {number} of the archive" for number in range(249)]
    await space.remember_all([*alike, "Sailors mend torn nets at dawn"])
    return space


async def test_what_a_killed_worker_was_doing_another_takes_over_where_it_was(
    settings: Settings, static_weights: None, begin: Begin
) -> None:
    settings = settings.model_copy(update={"job_lease_seconds": 1.0})
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    async with open_services(settings) as services:
        space = await large_space(services)
        process = begin("worker", database_url=url, job_lease_seconds=1)
        await asyncio.to_thread(process.hear, "Engram does jobs")
        async with last_memory_held(space):
            job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
            before = await progressed(services, job)
            assert (before.status, before.done, before.total) == (JobStatus.running, 200, 250)
            process.end(signal.SIGKILL)
        async with working(services):
            after = await until(services, job.id, JobStatus.done, JobStatus.dead)
    assert (after.status, after.done, after.attempts) == (JobStatus.done, 250, 2)


async def test_a_worker_that_is_told_to_stop_leaves_its_job_to_the_next(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        space = await large_space(services)
        job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
        async with last_memory_held(space), working(services, patience=0.2):
            await progressed(services, job)
        left = await services.jobs.get(DEFAULT_SCOPE, job.id)
        # It was not the job's fault: the attempt does not count.
        assert (left.status, left.done, left.attempts) == (JobStatus.waiting, 200, 0)
        async with working(services):
            after = await until(services, job.id, JobStatus.done)
        assert (after.done, after.attempts) == (250, 1)


async def test_a_worker_that_loses_its_connections_comes_back(settings: Settings, database_url: str) -> None:
    async with opened(settings, HashEmbedder()) as services, working(services):
        space = await new_space(services)
        await space.remember("something")
        await until(services, (await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)).id, JobStatus.done)
        connection = await asyncpg.connect(database_url)
        listening = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        assert await connection.fetchval(f"SELECT count(pg_terminate_backend(pid)) {listening}") >= 2
        await connection.close()
        job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
        await until(services, job.id, JobStatus.done)


async def test_a_ticket_that_was_lost_is_handed_in_again(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        space = await new_space(services)
        await space.remember("something")
        job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
        async with services.database.transaction() as connection:
            await driver(connection).execute("DELETE FROM job_queue")
            await driver(connection).execute("UPDATE jobs SET due_at = due_at - interval '1 minute'")
        async with working(services):
            await until(services, job.id, JobStatus.done)


async def test_a_job_that_its_workers_die_of_is_given_up(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        space = await new_space(services)
        job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
        async with services.database.transaction() as connection:
            await driver(connection).execute("UPDATE jobs SET status = 'running', attempts = $1", settings.job_attempts)
        async with working(services):
            dead = await until(services, job.id, JobStatus.dead, JobStatus.done)
            assert (dead.status, dead.error) == (JobStatus.dead, "WorkerLost")
            await until_the_queue_is_empty(services)
            assert (await services.jobs.retry(DEFAULT_SCOPE, job.id)).status is JobStatus.waiting
            await until(services, job.id, JobStatus.done)


async def test_the_queue_works_with_one_connection_in_the_pool(settings: Settings) -> None:
    single = settings.model_copy(update={"pool_size": 1, "pool_timeout": 5.0})
    async with opened(single, HashEmbedder()) as services, working(services):
        spaces = [await new_space(services) for _ in range(6)]
        for space in spaces:
            await space.remember("something")
        jobs = [await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id) for space in spaces]
        for job in jobs:
            await until(services, job.id, JobStatus.done)


def test_a_worker_beside_a_server_without_one(begin: Begin) -> None:
    """On the embedded Postgres of the server, which stays when the worker goes."""
    with tempfile.TemporaryDirectory(prefix="engram-tests-") as folder:
        data_dir = Path(folder) / "data"
        server = begin("serve", data_dir=data_dir, port=0, worker="false", log_format="json")
        with Engram(json.loads(server.hear('"url"'))["url"]) as client:
            agent = client.agents.create("clerk")
            client.memories.create(agent.id, "Alice moved to Lisbon")
            job = client.agents.rebuild_links(agent.id)
            worker = begin("worker", data_dir=data_dir)
            worker.hear("Engram does jobs")
            deadline = time.monotonic() + WAIT_SECONDS
            while client.jobs.get(job.id).status is not JobStatus.done:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert worker.end(signal.SIGTERM) == 0
            assert client.memories.recall(agent.id, "Alice").results
        assert server.end(signal.SIGTERM) == 0
