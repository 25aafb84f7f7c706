"""Imports and exports that end half-way: nothing of them is seen, and they can be begun again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from engram import AsyncEngram, EngramError, NotFoundError
from engram.agents.schemas import Agent
from engram.db.database import Database, driver
from engram.memories.schemas import MemoryBatch, MemoryItem
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from engram.transfer.exporting.service import Wanted
from engram.transfer.importing import service as importing
from engram.transfer.importing import staging

from .files import NDJSON, exported, imported, made_of, of_type, told
from .lives import live


@pytest.fixture
async def file(engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent) -> bytes:
    """Of an agent that is gone."""
    await live(engram, agent.id, steps=40, seed=1)
    file = await exported(http, agent.id)
    await engram.agents.delete(agent.id)
    return file


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a file is written before the rest comes."""
    monkeypatch.setattr(importing, "BATCH_LINES", 5)


async def count(database: Database, table: str) -> int:
    async with database.snapshot() as connection:
        counted: int = await driver(connection).fetchval(f"SELECT count(*) FROM {table}")
    return counted


async def until(done: Callable[[], Awaitable[object]], seconds: float = 30.0) -> None:
    """Wait for what an awaited question answers with yes."""
    async with asyncio.timeout(seconds):
        while not await done():  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.05)


async def test_nobody_sees_an_import_before_its_end(
    engram: AsyncEngram, http: httpx.AsyncClient, file: bytes, database: Database
) -> None:
    lines = file.splitlines(keepends=True)
    written, go_on = asyncio.Event(), asyncio.Event()
    # The last memory is not deleted: it would be found if it could be.
    some = next(line["id"] for line in of_type(file, "memory") if line["status"] == "current")

    async def halting() -> AsyncIterator[bytes]:
        for place, line in enumerate(lines):
            if place == len(lines) - 1:
                written.set()
                await go_on.wait()
            yield line

    sending = asyncio.create_task(http.post("/v1/agents/import", content=halting(), headers=NDJSON))
    await asyncio.wait_for(written.wait(), 30)
    await until(lambda: count(database, "edges"))
    assert [agent async for agent in engram.agents.list()] == []
    for question in (
        engram.memories.get(some),
        engram.memories.delete(some),
        engram.memories.update(some, content="mine"),
        engram.memories.restore(some),
        engram.memories.history(some),
        engram.graph.get_edges(some),
    ):
        with pytest.raises(NotFoundError):
            await question
    # Whoever makes an agent of that name meanwhile keeps it, and what it holds.
    mine = await engram.agents.create("clerk")
    await engram.memories.create(mine.id, "I was here first.")
    go_on.set()
    assert (await sending).status_code == 409
    assert [agent.id async for agent in engram.agents.list()] == [mine.id]
    assert await count(database, "memories") == 1
    await made_of(http, file, name="another")
    assert (await engram.memories.get(some)).id == some


async def test_a_client_that_hangs_up_leaves_nothing(
    live_server_with: Callable[..., str], file: bytes, database: Database
) -> None:
    url = live_server_with()
    head = f"POST /v1/agents/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {NDJSON['content-type']}\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port)
    writer.write(f"{head}Content-Length: {len(file)}\r\n\r\n".encode() + file[: len(file) * 3 // 4])
    await writer.drain()
    await until(lambda: count(database, "memories"))
    writer.close()

    async def gone() -> bool:
        return not await count(database, "memories") and not await count(database, "agents")

    await until(gone)
    async with httpx.AsyncClient(base_url=url) as http:
        await made_of(http, file)


async def test_what_a_killed_server_left_is_cleared_and_can_be_imported_again(
    services: Services,
    http: httpx.AsyncClient,
    settings: Settings,
    file: bytes,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert settings.database_url is not None
    environment = {**os.environ, "ENGRAM_DATABASE_URL": settings.database_url.get_secret_value(), "ENGRAM_PORT": "0"}
    code = (
        "import asyncio, sys\n"
        "from engram.services import open_services\n"
        "from engram.settings import Settings\n"
        "from engram.tenants.scope import DEFAULT_SCOPE\n"
        "from engram.transfer.importing import making, service\n"
        "service.BATCH_LINES = 5\n"
        "async def pieces():\n"
        "    for line in sys.stdin.buffer:\n"
        "        yield line\n"
        "    await asyncio.sleep(600)\n"
        "async def run():\n"
        "    async with open_services(Settings()) as services:\n"
        "        await services.imports.take(DEFAULT_SCOPE, pieces(), making.Wanted(), None)\n"
        "asyncio.run(run())\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stdin=asyncio.subprocess.PIPE, env=environment
    )
    try:
        assert process.stdin is not None
        process.stdin.write(b"".join(file.splitlines(keepends=True)[:-1]))
        process.stdin.close()
        await until(lambda: count(database, "edges"), 60)
    finally:
        process.send_signal(signal.SIGKILL)
        await asyncio.wait_for(process.wait(), 30)
    left = await count(database, "memories")
    assert left
    again = await imported(http, file)
    assert (again.status_code, "less than a minute ago" in again.text) == (503, True)
    assert await services.abandoned.clear() == 0
    assert await count(database, "memories") == left
    monkeypatch.setattr(staging, "LEASE", timedelta(0))
    assert await services.abandoned.clear() == 1
    for table in ("agents", "memories", "memory_terms", "entities", "edges", "memory_slots"):
        assert await count(database, table) == 0, table
    assert told(await exported(http, await made_of(http, file))) == told(file)


async def test_an_import_that_was_given_up_finds_that_it_is_over(
    services: Services, http: httpx.AsyncClient, file: bytes, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = file.splitlines(keepends=True)

    async def slow() -> AsyncIterator[bytes]:
        for line in lines[:20]:
            yield line
        # Taken for dead by another server, at a moment when it is not.
        monkeypatch.setattr(staging, "LEASE", timedelta(seconds=-1))
        assert await services.abandoned.clear() == 1
        for line in lines[20:]:
            yield line

    answer = await http.post("/v1/agents/import", content=slow(), headers=NDJSON)
    assert answer.status_code == 503
    assert await count(database, "agents") == 0
    assert await count(database, "memories") == 0


async def test_imports_of_the_same_ids_at_once_make_one_agent(
    http: httpx.AsyncClient, services: Services, file: bytes, database: Database
) -> None:
    services.imports._free = services.imports._most = 4
    answers = await asyncio.gather(*(imported(http, file, name=f"copy {n}") for n in range(4)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] == 201
    assert all(status in (409, 503) for status in statuses[1:])
    assert await count(database, "agents") == 1
    assert await count(database, "memories") == len(of_type(file, "memory"))


async def test_more_at_once_than_there_is_room_for_are_told_to_wait(
    services: Services, http: httpx.AsyncClient, agent: Agent
) -> None:
    """A reader that stops holds one place, and no more."""
    reading = services.exports.export(DEFAULT_SCOPE, agent.id, Wanted())
    await anext(reading)
    refused = await http.get(f"/v1/agents/{agent.id}/export")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    await reading.aclose()
    assert await exported(http, agent.id)


async def test_a_reader_that_hangs_up_ends_the_snapshot(
    live_server_with: Callable[..., str], settings: Settings, services: Services, agent: Agent, database: Database
) -> None:
    long = [MemoryItem(content=f"{n} " + "word " * 40_000) for n in range(60)]
    await services.memories.create_many(DEFAULT_SCOPE, MemoryBatch(agent_id=agent.id, items=long))
    url = live_server_with(embedding_provider="static")
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port, limit=2**10)
    writer.write(f"GET /v1/agents/{agent.id}/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    await reader.readexactly(1000)
    open_snapshots = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start < $1"
        " AND state = 'idle in transaction' AND pid <> pg_backend_pid()"
    )

    async def snapshots() -> int:
        async with database.snapshot() as connection:
            found: int = await driver(connection).fetchval(open_snapshots, datetime.now(UTC))
        return found

    await until(snapshots)
    writer.close()

    async def ended() -> bool:
        return not await snapshots()

    await until(ended)


async def test_a_cut_export_is_noticed_by_the_client(engram: AsyncEngram, agent: Agent) -> None:
    await engram.memories.create(agent.id, "Alice moved to Lisbon.")
    whole = [line async for line in engram.agents.export(agent.id)]

    def served(content: bytes) -> AsyncEngram:
        transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content))
        return AsyncEngram("http://memory.example", transport=transport, max_retries=0)

    for bad in (whole[:-1], whole[:1] + whole[2:], []):
        async with served(b"".join(bad)) as client:
            with pytest.raises(EngramError, match=r"cut off|changed"):
                [line async for line in client.agents.export(agent.id)]
    async with served(b"".join(whole)) as client:
        assert [line async for line in client.agents.export(agent.id)] == whole
