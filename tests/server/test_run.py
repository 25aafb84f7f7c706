"""A server as a process: its start, its end, and its sudden death."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import asyncpg
import httpx
import pytest

from engram import Engram

SERVE = "from engram.server import run, serving; from engram.settings import Settings; {}run.serve(Settings())"

PATIENCE = 60.0
"""Seconds that a process may take for each step."""

SHOW_PROBLEMS = """
import sys
from engram.problems import Problem
sys.excepthook = lambda kind, error, trace: issubclass(kind, Problem) and print("Problem:", error, file=sys.stderr)
"""


class Process:
    """``serve`` in an interpreter of its own, with what it says on stderr, a line of JSON each."""

    def __init__(self, folder: Path, before: str = "", **settings: object) -> None:
        environment = os.environ | {"ENGRAM_PORT": "0", "ENGRAM_LOG_FORMAT": "json"}
        environment |= {f"ENGRAM_{name.upper()}": str(value) for name, value in settings.items()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE.format(before)],
            cwd=folder,
            env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._lines: Queue[str] = Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line)
            self._lines.put(line)

    def hear(self, key: str) -> dict[str, Any]:
        """The next line that has this key. Fails where the process ends without, or takes too long."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, "".join(self.said)
            try:
                line = self._lines.get(timeout=0.05)
            except Empty:
                assert self._process.poll() is None, "".join(self.said)
                continue
            if line.startswith("{") and key in (found := json.loads(line)):
                return found

    @property
    def url(self) -> str:
        return self.hear("url")["url"]

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """The exit status, once it ends by itself; nothing may have been said on stdout."""
        status = self._process.wait(PATIENCE)
        self._heard_all()
        assert self._process.stdout is not None
        assert self._process.stdout.read() == ""
        return status

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        self._heard_all()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def _heard_all(self) -> None:
        self._listener.join(PATIENCE)
        assert not self._listener.is_alive(), "a process that it started lives on, and has its stderr"


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Process] = []

    def begin(before: str = "", **settings: object) -> Process:
        started.append(Process(tmp_path, before, **settings))
        return started[-1]

    yield begin
    for process in started:
        process.kill()


def test_what_was_written_survives_a_kill_and_sigterm_stops_the_database_too(start: Start, data_dir: Path) -> None:
    first = start(data_dir=data_dir)
    with Engram(first.url) as client:
        agent = client.agents.create("clerk")
        written = [client.memories.create(agent.id, text).id for text in ("Alice moved to Lisbon", "Bob reads")]
        answer = client.memories.recall(agent.id, "Alice").results
    first.kill()

    second = start(data_dir=data_dir)
    with Engram(second.url) as client:
        assert {memory.id for memory in client.memories.list(agent.id)} == set(written)
        assert client.memories.recall(agent.id, "Alice").results == answer
    second.send(signal.SIGTERM)
    assert second.end() == 0
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_a_signal_during_the_start_ends_it_and_leaves_no_database(start: Start, data_dir: Path) -> None:
    before = "import threading, os, signal; threading.Timer(1, os.kill, [os.getpid(), signal.SIGTERM]).start(); "
    process = start(before, data_dir=data_dir)
    assert process.end() == 0
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_the_start_is_told_and_an_interrupt_ends_it(start: Start, database_url: str) -> None:
    secret = database_url.replace("postgresql://postgres@", "postgresql://postgres:p%40ss%25word@")
    process = start(database_url=secret)
    said = process.hear("url")
    assert said["url"].startswith("http://127.0.0.1:")
    assert httpx.get(f"{said['url']}/health/ready").status_code == 200
    assert said["database"].startswith("postgresql://postgres@")
    assert "static" in said["embedder"]
    assert "only this machine" in said["access"]
    process.send(signal.SIGINT)
    assert process.end() == 0
    assert "ss%25word" not in "".join(process.said)


class TestRequestsInTheMiddle:
    """A server that is told to stop while a write waits for the database."""

    @pytest.fixture
    async def lock(self, database_url: str) -> Any:
        connection = await asyncpg.connect(database_url)
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("LOCK TABLE agents IN ACCESS EXCLUSIVE MODE")
        yield transaction
        await connection.close()

    @staticmethod
    def write(url: str) -> httpx.Response:
        return httpx.post(f"{url}/v1/agents", json={"name": "clerk"}, timeout=60)

    @staticmethod
    def is_refused(url: str) -> bool:
        try:
            httpx.get(f"{url}/health/live")
        except httpx.TransportError:
            return True
        return False

    async def test_one_that_is_soon_done_is_answered(self, start: Start, database_url: str, lock: Any) -> None:
        process = start(database_url=database_url)
        url = process.url
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(self.write, url)
            await _waits(database_url)
            process.send(signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            while not self.is_refused(url):
                assert time.monotonic() < deadline, "the server goes on listening"
            await lock.rollback()
            assert answer.result().status_code == 201
        assert process.end() == 0

    async def test_one_that_never_ends_is_given_up(self, start: Start, database_url: str, lock: Any) -> None:
        process = start("serving.DRAIN_SECONDS = 0.5; ", database_url=database_url)
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(self.write, process.url)
            await _waits(database_url)
            process.send(signal.SIGHUP)
            assert process.end() == 0
            assert answer.exception() or answer.result().status_code >= 500


async def _waits(database_url: str) -> None:
    """Until the write waits for a lock: what the server does by itself may wait as well, and sooner."""
    connection = await asyncpg.connect(database_url)
    waiting = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO agents%'
    """
    async with asyncio.timeout(PATIENCE):
        while not await connection.fetchval(waiting):  # noqa: ASYNC110  # what happens in Postgres sets no event
            await asyncio.sleep(0.01)
    await connection.close()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"host": "0.0.0.0"}, "no API keys"),
        ({"database_url": "postgresql://nobody:s3cret@127.0.0.1:1/x", "connect_timeout": "0.2"}, "cannot be reached"),
    ],
    ids=["host", "database"],
)
def test_what_keeps_a_server_from_starting_is_raised_as_a_problem(
    start: Start, data_dir: Path, settings: dict[str, str], complaint: str
) -> None:
    process = start(SHOW_PROBLEMS, data_dir=data_dir, **settings)
    assert process.end() == 1
    assert process.said[-1].startswith("Problem: ")
    assert complaint in process.said[-1]
    assert "s3cret" not in "".join(process.said)
    assert not data_dir.exists()
