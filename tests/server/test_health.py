"""Probes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import httpx
import pytest

from engram import AsyncEngram, __version__
from engram.agents.schemas import Agent
from engram.db.embedded import EmbeddedPostgres
from engram.server import health
from engram.server.app import create_app
from engram.services import open_services
from engram.settings import Settings
from tests.fixtures.postgres import FAST
from tests.fixtures.servers import LOCAL, is_documented


async def test_a_live_server_says_so(http: httpx.AsyncClient) -> None:
    response = await http.get("/health/live")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "version": __version__})


async def test_a_ready_server_says_on_what_it_stands(engram: AsyncEngram) -> None:
    report = await engram.health()
    assert (report.status, report.version, report.pending_links) == ("ok", __version__, 0)
    assert report.database["status"] == "ok"
    assert report.database["current"] == report.database["head"]
    assert report.embedder == {"provider": "static", "name": "l2_supercat_256", "dimension": 256}


async def test_memories_that_wait_for_links_are_counted(engram: AsyncEngram, agent: Agent, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("ALTER TABLE edges RENAME TO edges_away")
    written = [await engram.memories.create(agent.id, text) for text in ("Alice keeps the keys", "Bob reads")]
    assert [memory.linked for memory in written] == [False, False]
    assert (await engram.health()).pending_links == 2
    await connection.execute("ALTER TABLE edges_away RENAME TO edges")
    await connection.close()


async def test_another_revision_is_told(engram: AsyncEngram, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE alembic_version SET version_num = 'of the future'")
    await connection.close()
    report = await engram.health()
    assert report.status == "unavailable"
    assert "of the future" in report.database["detail"]


async def test_a_database_that_is_stuck_does_not_hold_up_the_probe(
    http: httpx.AsyncClient, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "READY_SECONDS", 0.2)
    connection = await asyncpg.connect(database_url)
    async with connection.transaction():
        await connection.execute("LOCK TABLE pending_projections IN ACCESS EXCLUSIVE MODE")
        ready = await http.get("/health/ready")
        live = await http.get("/health/live")
    await connection.close()
    assert (ready.status_code, live.status_code) == (503, 200)
    assert ready.json()["database"]["status"] == "unavailable"
    assert (await http.get("/health/ready")).status_code == 200


class TestWithoutADatabase:
    """A server whose Postgres stops and comes back."""

    @pytest.fixture
    async def postgres(self, data_dir: Path) -> AsyncIterator[EmbeddedPostgres]:
        server = await asyncio.to_thread(EmbeddedPostgres.start, data_dir, FAST)
        yield server
        await asyncio.to_thread(server.stop)

    @pytest.fixture
    async def http(
        self, postgres: EmbeddedPostgres, make_settings: Callable[..., Settings], static_weights: None
    ) -> AsyncIterator[httpx.AsyncClient]:
        async with open_services(make_settings(postgres.dsn, connect_timeout=2)) as services:
            transport = httpx.ASGITransport(create_app(services=services))
            hooks = {"response": [is_documented]}
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL, event_hooks=hooks) as client:
                yield client

    async def test_the_server_lives_is_not_ready_and_recovers(
        self, http: httpx.AsyncClient, postgres: EmbeddedPostgres, engram: AsyncEngram, agent: Agent, data_dir: Path
    ) -> None:
        await asyncio.to_thread(postgres.stop)
        assert (await http.get("/health/live")).status_code == 200
        assert (await http.get("/health/ready")).status_code == 503
        report = await engram.health()
        assert (report.status, report.pending_links) == ("unavailable", None)
        assert report.embedder["provider"] == "static"
        write = await http.post("/v1/memories", json={"agent_id": agent.id, "content": "x"})
        assert (write.status_code, write.json()["type"]) == (503, "unavailable")
        assert int(write.headers["retry-after"]) >= 1
        again = await asyncio.to_thread(EmbeddedPostgres.start, data_dir, FAST)
        try:
            assert (await http.get("/health/ready")).status_code == 200
            assert (await engram.memories.create(agent.id, "x")).linked
        finally:
            await asyncio.to_thread(again.stop)
