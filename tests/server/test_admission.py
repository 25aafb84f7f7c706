"""How many requests are handled at once, and that each gives its place back, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg
import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from engram.server.middleware.admission import Admission
from engram.server.middleware.bodies import BodyLimits
from tests.fixtures.servers import LOCAL

MOST = 3


@pytest.fixture
def settings(settings):
    return settings.model_copy(update={"max_concurrent_requests": MOST})


@asynccontextmanager
async def waiting(app: FastAPI, database_url: str, count: int) -> AsyncIterator[list[asyncio.Task[httpx.Response]]]:
    """Requests that wait for a lock in the database, and are answered afterwards."""
    connection = await asyncpg.connect(database_url)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("LOCK TABLE agents IN ACCESS EXCLUSIVE MODE")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=LOCAL) as client:
        tasks = [asyncio.create_task(client.get("/v1/agents")) for _ in range(count)]
        async with asyncio.timeout(15):
            while await _blocked(connection) < count:  # noqa: ASYNC110  # what happens in Postgres sets no event
                await asyncio.sleep(0.01)
        yield tasks
        await transaction.rollback()
        await connection.close()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _blocked(connection: asyncpg.Connection) -> int:
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    return await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )


async def test_one_too_many_is_refused_at_once(app: FastAPI, http: httpx.AsyncClient, database_url: str) -> None:
    async with waiting(app, database_url, MOST) as tasks:
        response = await http.get("/v1/agents")
        assert (response.status_code, response.json()["type"]) == (503, "unavailable")
        assert response.headers["retry-after"] == "1"
        assert not any(task.done() for task in tasks)
    assert [(await task).status_code for task in tasks] == [200] * MOST
    assert (await http.get("/v1/agents")).status_code == 200


async def test_a_busy_server_says_that_it_lives(app: FastAPI, http: httpx.AsyncClient, database_url: str) -> None:
    async with waiting(app, database_url, MOST):
        assert (await http.get("/health/live")).status_code == 200
        assert (await http.get("/health/ready")).status_code == 503


async def test_one_that_is_cancelled_gives_its_place_back(
    app: FastAPI, http: httpx.AsyncClient, database_url: str
) -> None:
    async with waiting(app, database_url, MOST) as tasks:
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        assert (await http.get("/health/ready")).status_code == 200


Ending = Callable[[Receive, Send], "asyncio.Future[None]"]


async def _answer(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _fail(receive: Receive, send: Send) -> None:
    await receive()
    raise RuntimeError


async def _lose_the_client(receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect


async def _fail_in_the_middle(receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise OSError


async def _be_cancelled(receive: Receive, send: Send) -> None:
    await receive()
    current = asyncio.current_task()
    assert current is not None
    current.cancel()
    await asyncio.Event().wait()


ENDINGS = (_answer, _fail, _lose_the_client, _fail_in_the_middle, _be_cancelled)


@given(
    st.lists(st.tuples(st.sampled_from(ENDINGS), st.integers(0, 30), st.booleans()), max_size=30),
    st.integers(1, 5),
)
def test_all_places_and_all_memory_are_free_in_the_end(requests: list[tuple[Ending, int, bool]], together: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await scope["ending"](receive, send)

    most, capacity = 4, 100
    limited = Admission(BodyLimits(app, limit=50, patience=30, together=capacity), most)

    async def ask(ending: Ending, size: int, is_whole: bool) -> int | None:
        messages: list[Message] = [{"type": "http.request", "body": b"x" * size, "more_body": not is_whole}]
        statuses = []

        async def receive() -> Message:
            await asyncio.sleep(0)
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            statuses.append(message.get("status"))

        scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "ending": ending}
        await limited(scope, receive, send)
        return statuses[0] if statuses else None

    async def run() -> None:
        for start in range(0, len(requests), together):
            tasks = [asyncio.create_task(ask(*request)) for request in requests[start : start + together]]
            await asyncio.gather(*tasks, return_exceptions=True)
        # As many as there are places, with bodies that fill the memory: nothing is left of what went before.
        filling = [asyncio.create_task(ask(_answer, capacity // most, True)) for _ in range(most)]
        assert await asyncio.gather(*filling) == [200] * most

    asyncio.run(run())
