"""What runs beside the requests, from the start of an app to its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncpg
import httpx
import pytest

from engram import AsyncEngram
from engram.idempotency.service import IdempotencyService
from engram.server import app as server
from engram.server import background
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.servers import LOCAL


async def jobs_of(engram: AsyncEngram) -> list[tuple[str, str]]:
    return [(job.id, job.status.value) async for job in engram.jobs.list()]


async def test_links_that_could_not_be_made_are_made_while_the_server_runs(
    engram: AsyncEngram, settings: Settings, database_url: str
) -> None:
    connection = await asyncpg.connect(database_url)
    agent = await engram.agents.create("clerk")
    await connection.execute("ALTER TABLE edges RENAME TO edges_away")
    first, second = [
        await engram.memories.create(agent.id, text)
        for text in ("Alice moved to Lisbon in May", "Alice moved to Lisbon in May!")
    ]
    assert not second.linked
    await connection.execute("ALTER TABLE edges_away RENAME TO edges")
    await connection.execute("UPDATE pending_projections SET next_attempt_at = now()")
    assert (await engram.agents.stats(agent.id)).projections["thematic"].failed == 2
    await connection.close()

    # A server that does no jobs leaves it, and says that it waits.
    idle = server.create_app(settings.model_copy(update={"worker": False}))
    async with server.lifespan(idle):
        rebuilding = await idle.state.services.jobs.rebuild_links(DEFAULT_SCOPE, agent.id)
    assert await jobs_of(engram) == [(rebuilding.id, "waiting")]
    app = server.create_app(settings)
    async with server.lifespan(app), asyncio.timeout(30):
        while {status for _, status in await jobs_of(engram)} != {"done"}:  # noqa: ASYNC110  # a job sets no event
            await asyncio.sleep(0.02)
    edges = [edge async for edge in engram.graph.get_edges(second.id, relation_type="thematic")]
    assert [edge.target_memory_id for edge in edges] == [first.id]
    assert (await engram.health()).pending_links == 0
    assert {status for _, status in await jobs_of(engram)} == {"done"}


async def test_work_that_misses_its_cancellation_does_not_hold_up_the_end(
    settings: Settings, static_weights: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait that is over in the very moment in which it is cancelled ends as if it were not: ``asyncio.wait_for`` of
    Python 3.11 does that, and the pool waits with it."""
    begun = asyncio.Event()

    async def sweep_forever(self: IdempotencyService, pause: float) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    monkeypatch.setattr(IdempotencyService, "sweep_forever", sweep_forever)
    monkeypatch.setattr(background, "CANCEL_SECONDS", 0.1)
    async with asyncio.timeout(20), server.lifespan(server.create_app(settings)):
        await begun.wait()


async def test_an_app_can_be_started_again(settings: Settings, static_weights: None) -> None:
    app = server.create_app(settings)
    for _ in range(2):
        async with (
            server.lifespan(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=LOCAL) as client,
        ):
            assert (await client.get("/health/ready")).status_code == 200
