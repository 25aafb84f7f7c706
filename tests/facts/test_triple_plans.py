"""What a page of triples reads follows what is asked for; of all that an agent knows it is each fact a few times."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engram.db.database import driver
from engram.facts.triples.schemas import TripleSort
from engram.facts.triples.service import TripleQuestion
from engram.services import Services
from engram.settings import Settings
from engram.tenants.models import DEFAULT_TENANT_ID
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.test_plans import World
from tests.fixtures.plans import rows_through
from tests.fixtures.spaces import new_space
from tests.fixtures.wiring import HashEmbedder, opened

FACTS = 1500
PASSES = 25
"""How often a fact may be taken up, all steps of the plan together; a page has twice as many lines."""


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9)) as services:
        yield services


@pytest.fixture
async def world(services: Services) -> World:
    space = await new_space(services)
    world = World(services, space.agent_id, datetime.now(UTC))
    memory = (await space.remember("Everybody lives in Hubtown.")).id
    for first in range(0, FACTS, 500):
        await world.append(
            *(
                {"subject": f"person{n}", "predicate": "knows", "object": f"person{n + 1}", "sources": [memory]}
                for n in range(first, first + 500)
            )
        )
    async with services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    return world


async def page(world: World, **wanted: Any) -> int:
    """How many lines a page has."""
    question = TripleQuestion(agent_id=world.agent_id, **wanted)
    return len((await world.services.triples.list(DEFAULT_SCOPE, question, limit=50, cursor=None)).data)


async def test_of_an_entity_no_more_is_read_than_is_known_of_it(world: World) -> None:
    now = datetime.now(UTC)
    for wanted in ({"subject": "person7"}, {"object": "person7"}, {"entity": "person7"}):
        for when in ({}, {"as_of": now}, {"known_at": now}):
            asked: dict[str, Any] = {**wanted, **when, "include_sources": True, "include_source_status": True}
            assert await page(world, **asked) == (2 if "entity" in wanted else 1)
            assert await world.read_by(page(world, **asked)) < 50, asked


@pytest.mark.parametrize("order", list(TripleSort))
async def test_a_page_of_all_takes_a_few_passes_over_what_is_known(world: World, order: TripleSort) -> None:
    asked = {"sort_by": order, "include_sources": True, "include_source_status": True}
    assert await page(world, **asked) == 50
    (listed,) = [one for one in await world.said_by(lambda: page(world, **asked)) if "stated AS" in one.query]
    async with world.services.database.transaction() as connection:
        await driver(connection).execute(
            f"SET LOCAL ROLE engram_reader; SET LOCAL engram.tenant_id = '{DEFAULT_TENANT_ID}'"
        )
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {listed.query}"
        plan = await driver(connection).fetchval(explain, *listed.args)
    assert FACTS < rows_through(plan[0]["Plan"]) < PASSES * FACTS
