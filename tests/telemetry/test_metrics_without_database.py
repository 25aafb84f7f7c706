"""A scrape says what it can while the database is away or stuck."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import httpx
import pytest

from engram.db.embedded import EmbeddedPostgres
from engram.server.app import create_app
from engram.server.metrics import facts
from engram.services import open_services
from engram.settings import Settings
from tests.fixtures.postgres import FAST
from tests.fixtures.servers import LOCAL
from tests.telemetry.scrapes import scrape

OF_THE_DATABASE = ("engram_projections_pending", "engram_table_bytes", "engram_table_index_bytes")


async def test_a_database_that_went_away_and_came_back(
    make_settings: Callable[..., Settings], static_weights: None
) -> None:
    with tempfile.TemporaryDirectory(prefix="engram-tests-") as folder:
        data = Path(folder) / "data"
        server = await asyncio.to_thread(EmbeddedPostgres.start, data, FAST)
        async with open_services(make_settings(server.dsn, connect_timeout=2)) as services:
            transport = httpx.ASGITransport(create_app(services=services))
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as http:
                before = await scrape(http)
                await asyncio.to_thread(server.stop)
                away = await scrape(http)
                again = await asyncio.to_thread(EmbeddedPostgres.start, data, FAST)
                try:
                    after = await scrape(http)
                finally:
                    await asyncio.to_thread(again.stop)
    assert [scraped.value("engram_database_up") for scraped in (before, away, after)] == [1, 0, 1]
    assert not away.names() & set(OF_THE_DATABASE)
    assert before.names() - away.names() == {*OF_THE_DATABASE, "engram_projections_pending_failed"} | {
        "engram_projections_oldest_seconds",
        "engram_jobs",
        "engram_jobs_oldest_seconds",
    } | ({"engram_table_rows"} & before.names())
    assert away.value("engram_http_requests_total", "GET", "/metrics", "2xx") == 1


class TestAStuckDatabase:
    @pytest.fixture
    async def locked(self, database_url: str) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(database_url)
        async with connection.transaction():
            await connection.execute("LOCK TABLE pending_projections IN ACCESS EXCLUSIVE MODE")
            yield connection
        await connection.close()

    async def test_a_scrape_does_not_wait_for_it(
        self, http: httpx.AsyncClient, locked: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(facts, "READ_SECONDS", 0.2)
        scraped = await scrape(http)
        assert scraped.value("engram_database_up") == 0
        assert "engram_table_bytes" not in scraped.names()
