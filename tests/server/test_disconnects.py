"""Clients that hang up before they are answered."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from engram import AsyncEngram
from engram.settings import Settings
from engram.tenants.shares import Shares


@pytest.fixture
async def administrator(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def engram(live_server: str) -> AsyncIterator[AsyncEngram]:
    async with AsyncEngram(live_server) as client:
        yield client


@asynccontextmanager
async def slow(administrator: asyncpg.Connection) -> AsyncIterator[None]:
    """While agents and memories are locked, every statement about them waits."""
    async with administrator.transaction():
        await administrator.execute("LOCK TABLE agents, memories IN ACCESS EXCLUSIVE MODE")
        yield


async def waiting(administrator: asyncpg.Connection) -> int:
    """How many statements of the server wait for a lock."""
    await administrator.execute("SELECT pg_stat_clear_snapshot()")
    return await administrator.fetchval(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'
        """
    )


async def until(condition: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    """The database gives a statement up by itself only after 30 seconds."""
    async with asyncio.timeout(15):
        while not await condition():  # noqa: ASYNC110  # what happens in Postgres sets no event
            await asyncio.sleep(0.02)


def send(url: str, method: str, path: str, body: object = None) -> socket.socket:
    """Send a request and do not wait for the answer."""
    content = json.dumps(body).encode() if body is not None else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    connection = socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30)
    connection.sendall(head.encode() + content)
    return connection


async def test_a_read_is_cancelled_down_to_the_database(
    live_server: str, engram: AsyncEngram, administrator: asyncpg.Connection
) -> None:
    agent = await engram.agents.create("clerk")
    memory = await engram.memories.create(agent.id, "Alice moved to Lisbon")
    reads = [
        ("POST", "/v1/memories/recall", {"agent_id": agent.id, "query": "Alice"}),
        ("GET", f"/v1/memories?agent_id={agent.id}", None),
        ("GET", f"/v1/graph/edges?memory_id={memory.id}", None),
        ("GET", f"/v1/memories/{memory.id}", None),
        ("GET", f"/v1/agents/{agent.id}/stats", None),
        ("GET", f"/v1/agents/{agent.id}", None),
        ("GET", "/v1/agents", None),
    ]
    for read in reads:
        async with slow(administrator):
            connection = send(live_server, *read)
            await until(lambda: _equals(waiting(administrator), 1))
            connection.close()
            await until(lambda: _equals(waiting(administrator), 0))
    assert [hit.id for hit in await engram.memories.recall(agent.id, "Alice")] == [memory.id]


async def test_cancelled_reads_leave_no_connection_in_use(
    live_server: str, engram: AsyncEngram, administrator: asyncpg.Connection, settings: Settings
) -> None:
    agent = await engram.agents.create("clerk")
    body = {"agent_id": agent.id, "query": "Alice"}
    most = Shares(settings.pool_size, settings.pool_timeout).most
    for _ in range(3):
        async with slow(administrator):
            # As many as one tenant gets connections.
            connections = [send(live_server, "POST", "/v1/memories/recall", body) for _ in range(most)]
            await until(lambda: _equals(waiting(administrator), most))
            for connection in connections:
                connection.close()
            await until(lambda: _equals(waiting(administrator), 0))
    assert (await engram.health()).status == "ok"
    assert list(await engram.memories.recall(agent.id, "Alice")) == []


async def test_a_write_goes_on(live_server: str, engram: AsyncEngram, administrator: asyncpg.Connection) -> None:
    agent = await engram.agents.create("clerk")
    async with slow(administrator):
        body = {"agent_id": agent.id, "content": "Alice moved to Lisbon"}
        connection = send(live_server, "POST", "/v1/memories", body)
        await until(lambda: _equals(waiting(administrator), 1))
        connection.close()
        await _answered(live_server)

    async def stored() -> bool:
        return (await engram.agents.stats(agent.id)).memories == 1

    await until(stored)


async def test_a_client_that_leaves_in_the_middle_of_its_body_harms_nobody(
    live_server: str, engram: AsyncEngram
) -> None:
    address = (urlsplit(live_server).hostname, urlsplit(live_server).port)
    with socket.create_connection(address, timeout=30) as connection:
        head = b"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b'Content-Length: 100\r\n\r\n{"name": "x"')
        await _answered(live_server)
    await _answered(live_server)
    assert [agent async for agent in engram.agents.list()] == []


async def _answered(url: str) -> None:
    """The server has taken note of what happened before: it answers in turn."""
    async with httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/health/live")).status_code == 200


async def _equals(asked: Coroutine[Any, Any, int], expected: int) -> bool:
    return await asked == expected
