"""A server as a process: its start, its end, and its sudden death."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from engram import Engram
from tests.server.processes import PATIENCE, SHOW_PROBLEMS, Start
from tests.server.processes import start as start  # noqa: PLC0414  # a fixture


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
    # Loading the app takes a while, and a signal ends that as it ends any program.
    before = "import threading, os, signal, engram.server.alone; "
    before += "threading.Timer(1, os.kill, [os.getpid(), signal.SIGTERM]).start(); "
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


@asynccontextmanager
async def locked_agents(database_url: str) -> AsyncIterator[asyncpg.transaction.Transaction]:
    """Nobody writes an agent before this transaction ends."""
    connection = await asyncpg.connect(database_url)
    try:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("LOCK TABLE agents IN ACCESS EXCLUSIVE MODE")
        yield transaction
    finally:
        await connection.close()


def write(url: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/agents", json={"name": "clerk"}, timeout=60)


def is_refused(url: str) -> bool:
    try:
        httpx.get(f"{url}/health/live")
    except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError):
        return True
    return False


class TestRequestsInTheMiddle:
    """A server that is told to stop while a write waits for the database."""

    @pytest.fixture
    async def lock(self, database_url: str) -> AsyncIterator[asyncpg.transaction.Transaction]:
        async with locked_agents(database_url) as transaction:
            yield transaction

    async def test_one_that_is_soon_done_is_answered(self, start: Start, database_url: str, lock: Any) -> None:
        process = start(database_url=database_url)
        url = process.url
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(write, url)
            await waits(database_url)
            process.send(signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            while not is_refused(url):
                assert time.monotonic() < deadline, "the server goes on listening"
            await lock.rollback()
            assert answer.result().status_code == 201
        assert process.end() == 0

    async def test_one_that_never_ends_is_given_up(self, start: Start, database_url: str, lock: Any) -> None:
        process = start("from engram.server import serving; serving.DRAIN_SECONDS = 0.5; ", database_url=database_url)
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(write, process.url)
            await waits(database_url)
            process.send(signal.SIGHUP)
            assert process.end() == 0
            assert answer.exception() or answer.result().status_code >= 500


async def waits(database_url: str) -> None:
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
