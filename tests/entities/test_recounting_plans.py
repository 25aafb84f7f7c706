"""What recounting memories costs follows how much they observe, whatever the planner believes of it: compared one with
each other, the observations of a few hundred memories of many names take half a minute."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.occurring import repository
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.plans import rows_through
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened

MEMORIES = 30
NAMES = 15
PASSES = 60
"""How often an observation may be taken up while it is recounted, all steps of the plan together."""


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        yield services


async def recounted(services: Services, space: Space, ids: list[str], *, anew: bool) -> int:
    """How many rows the statement that recounts these memories goes through; nothing is kept of it. ``anew``: nothing
    of what they observe stands yet."""
    agent_id = UUID(space.agent_id)
    async with services.database.transaction() as connection:
        nested = await connection.begin_nested()
        if anew:
            await driver(connection).execute("DELETE FROM co_occurrences WHERE agent_id = $1", agent_id)
        plan = await driver(connection).fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {repository._RECOUNT}",
            agent_id,
            DEFAULT_SCOPE.tenant_id,
            [UUID(id) for id in ids],
        )
        await nested.rollback()
    return rows_through(plan[0]["Plan"])


async def test_to_recount_memories_takes_a_few_passes_over_what_they_observe(services: Services) -> None:
    space = await new_space(services)
    # Each memory has names of its own, and a vector that is in no index: nothing is looked for by it.
    made = await space.remember_all(
        {
            "content": f"note {at}",
            "entities": [f"name{at}x{place}" for place in range(NAMES)],
            "embedding": [0.0] * 8,
        }
        for at in range(MEMORIES)
    )
    ids = [memory.id for memory in made.results]
    observations = MEMORIES * repository.MAX_PAIRS
    async with services.database.snapshot() as connection:
        count = "SELECT count(*) FROM co_occurrences WHERE agent_id = $1"
        assert await driver(connection).fetchval(count, UUID(space.agent_id)) == observations
    for analyzed in (False, True):
        if analyzed:
            async with services.database.transaction() as connection:
                await driver(connection).execute("ANALYZE")
        for anew in (False, True):
            assert await recounted(services, space, ids, anew=anew) < PASSES * observations, (analyzed, anew)
