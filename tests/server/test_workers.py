"""A server of several processes."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from prometheus_client.parser import text_string_to_metric_families

from engram import Engram
from engram.cli.main import main
from engram.tenants.roles import Role
from tests.fixtures.tenants import Tenant, bearer
from tests.server.processes import PATIENCE, SHOW_PROBLEMS, Start
from tests.server.processes import start as start  # noqa: PLC0414  # a fixture
from tests.server.test_run import is_refused, locked_agents, waits, write

LIVE = "/health/live"


def by_worker(url: str, name: str, **labels: str) -> dict[str, float]:
    """The samples of this name that have these labels, by worker."""
    return {
        sample.labels["worker"]: sample.value
        for family in text_string_to_metric_families(httpx.get(f"{url}/metrics").text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    }


def eventually(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (answer := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


def answered_by(url: str) -> dict[str, float]:
    """By how many requests each worker was asked whether it lives, after two more, each on a connection of its own:
    they go to the workers in turn, and so does the scrape."""
    for _ in range(2):
        assert httpx.get(f"{url}{LIVE}").status_code == 200
    return by_worker(url, "engram_http_requests_total", route=LIVE)


def test_all_answer_for_one_store_and_end_together(start: Start, data_dir: Path) -> None:
    process = start(data_dir=data_dir, workers=2)
    said = process.hear("url")
    url = said["url"]
    assert (said["workers"], said["jobs"]) == (2, "done by worker 0")
    workers = process.below
    assert len(workers) == 2
    with Engram(url) as client:
        agent = client.agents.create("clerk")
        client.memories.create(agent.id, "Alice moved to Lisbon")
    body = {"agent_id": agent.id, "query": "Where is Alice?"}
    asked = 0

    def both_have_recalled() -> bool:
        nonlocal asked
        for _ in range(2):
            asked += 1
            (hit,) = httpx.post(f"{url}/v1/memories/recall", json=body, timeout=PATIENCE).json()["results"]
            assert hit["content"] == "Alice moved to Lisbon"
        counts = by_worker(url, "engram_recall_candidates_count")
        # One that is too busy to say in time is left out of a scrape.
        return set(counts) == {"0", "1"} and all(counts.values()) and sum(counts.values()) == asked

    eventually(both_have_recalled)
    memory = by_worker(url, "process_resident_memory_bytes")
    assert set(memory) == {"0", "1"}
    process.send(signal.SIGTERM)
    assert process.end() == 0
    assert not any(worker.is_running() for worker in workers)
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_another_takes_the_place_of_one_that_dies(start: Start, database_url: str) -> None:
    process = start(database_url=database_url, workers=2)
    url = process.url
    eventually(lambda: set(answered_by(url)) == {"0", "1"})
    before = {worker.pid for worker in process.below}
    victim = process.below[0]
    victim.kill()
    ended = process.hear("how")
    assert ended["how"] == f"(pid {victim.pid}) ended by SIGKILL"
    assert httpx.get(f"{url}{LIVE}").status_code == 200, "the other goes on"
    again = process.hear("pid")
    assert again["worker"] == ended["worker"]
    assert {worker.pid for worker in process.below} == (before - {victim.pid}) | {again["pid"]}
    eventually(lambda: set(answered_by(url)) == {"0", "1"})
    process.send(signal.SIGINT)
    assert process.end() == 0


def test_one_that_cannot_be_started_again_is_tried_again_and_the_other_goes_on(start: Start, database_url: str) -> None:
    # What is patched is the supervisor: workers are other programs.
    before = """
import itertools
from engram.server.workers.process import WorkerProcess
begin, starts = WorkerProcess.start, itertools.count(1)
async def start(*given):
    if next(starts) == 3:
        raise OSError(24, "Too many open files")
    return await begin(*given)
WorkerProcess.start = start
"""
    process = start(before, database_url=database_url, workers=2)
    url = process.url
    process.below[0].kill()
    assert "SIGKILL" in process.hear("how")["how"]
    assert "Too many open files" in process.hear("how")["how"]
    assert httpx.get(f"{url}{LIVE}").status_code == 200
    process.hear("pid")
    assert len(process.below) == 2
    process.send(signal.SIGTERM)
    assert process.end() == 0


def test_one_that_hangs_is_followed_by_another(start: Start, database_url: str) -> None:
    before = "from engram.server.workers import pulse; pulse.PATIENCE_SECONDS = 1.0; pulse.HUNG_SECONDS = 2.0; "
    process = start(before, database_url=database_url, workers=2)
    url = process.url
    one, other = process.below
    one.suspend()
    assert process.hear("pid")["event"] == "worker.hangs"
    one.resume()
    assert process.hear("pid")["event"] == "worker.answers_again"
    other.suspend()
    assert process.hear("pid")["event"] == "worker.hangs"
    assert process.hear("pid")["event"] == "worker.killed"
    assert process.hear("how")["how"] == f"(pid {other.pid}) ended by SIGKILL"
    assert process.hear("pid")["event"] == "worker.serves"
    eventually(lambda: set(answered_by(url)) == {"0", "1"})
    process.send(signal.SIGTERM)
    assert process.end() == 0


def test_one_that_hangs_is_killed_in_the_end(start: Start, database_url: str) -> None:
    before = "from engram.server.workers import supervisor; supervisor.KILL_SECONDS = 0.5; "
    process = start(before, database_url=database_url, workers=2)
    url = process.url
    hanging = process.below[0]
    hanging.suspend()
    process.hear("pid")  # worker.hangs
    for _ in range(3):
        assert len(by_worker(url, "engram_build_info")) == 1, "nobody is sent there, and scrapes do without it"
    for _ in range(2):
        process.send(signal.SIGTERM)
        eventually(lambda: is_refused(url))
    assert process.end() == 0
    assert not hanging.is_running()


def test_without_its_supervisor_none_goes_on(start: Start, data_dir: Path) -> None:
    process = start(data_dir=data_dir, workers=2)
    url = process.url
    workers = process.below
    process.kill()
    assert psutil.wait_procs(workers, PATIENCE)[1] == []
    assert is_refused(url)
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


async def test_a_rate_limit_is_of_all_together(start: Start, database_url: str, alder: Tenant) -> None:
    process = start(database_url=database_url, workers=2, rate_limit="7/year")  # of which no end comes within the test
    url, headers = process.url, bearer(alder.keys[Role.viewer])
    statuses = []
    for _ in range(30):
        async with httpx.AsyncClient(headers=headers) as client:  # a connection each
            statuses.append((await client.get(f"{url}/v1/agents")).status_code)
    assert statuses == [200] * 7 + [429] * 23


class TestRequestsInTheMiddle:
    @pytest.fixture
    async def lock(self, database_url: str) -> AsyncIterator[asyncpg.transaction.Transaction]:
        async with locked_agents(database_url) as transaction:
            yield transaction

    async def test_one_that_is_soon_done_is_answered(self, start: Start, database_url: str, lock: Any) -> None:
        process = start(database_url=database_url, workers=2)
        url = process.url
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(write, url)
            await waits(database_url)
            process.send(signal.SIGTERM)
            eventually(lambda: is_refused(url))
            await lock.rollback()
            assert answer.result().status_code == 201
        assert process.end() == 0

    async def test_a_second_signal_gives_it_up(self, start: Start, database_url: str, lock: Any) -> None:
        process = start(database_url=database_url, workers=2)
        url = process.url
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(write, url)
            await waits(database_url)
            process.send(signal.SIGTERM)
            eventually(lambda: is_refused(url))
            process.send(signal.SIGTERM)
            assert process.end() == 0
            assert answer.exception() or answer.result().status_code >= 500


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"pool_size": 300}, "Set ENGRAM_POOL_SIZE to "),
        ({"embedding_model": "nonesuch"}, "nonesuch"),
    ],
    ids=["supervisor", "worker"],
)
def test_what_keeps_them_from_starting_is_raised_as_a_problem_once(
    start: Start, database_url: str, settings: dict[str, object], complaint: str
) -> None:
    process = start(SHOW_PROBLEMS, database_url=database_url, workers=3, **settings)
    assert process.end() == 1
    problems = [line for line in process.said if line.startswith("Problem: ")]
    assert len(problems) == 1
    assert complaint in problems[0]


def test_one_that_dies_before_it_can_serve_ends_them_all(start: Start, database_url: str) -> None:
    process = start(SHOW_PROBLEMS, database_url=database_url, workers=2)
    (first, *_) = eventually(lambda: process.below)
    first.kill()
    assert process.end() == 1
    assert "ended by SIGKILL before it could serve" in process.said[-1]


def test_a_signal_during_the_start_ends_it(start: Start, database_url: str) -> None:
    process = start(database_url=database_url, workers=2)
    workers = eventually(lambda: process.below)
    process.send(signal.SIGHUP)
    assert process.end() == 0
    assert not any(worker.is_running() for worker in workers)


def test_what_a_terminal_sends_to_all_ends_them_in_order(start: Start, database_url: str) -> None:
    process = start(database_url=database_url, workers=2)
    workers = eventually(lambda: process.below)
    process.interrupt_all()
    assert process.end() == 0
    assert not any("KeyboardInterrupt" in line for line in process.said)
    assert not any(worker.is_running() for worker in workers)


@pytest.mark.parametrize("number", ["0", "65", "two"])
def test_numbers_that_make_no_sense_are_refused_by_name(
    number: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["serve", "--workers", number]) == 2
    assert "--workers" in capsys.readouterr().err
    monkeypatch.setenv("ENGRAM_WORKERS", number)
    assert main(["serve"]) != 0
    assert "ENGRAM_WORKERS" in capsys.readouterr().err
