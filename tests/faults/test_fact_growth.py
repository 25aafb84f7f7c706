"""What must not grow with the facts that an agent holds: the work of a walk, and that of a change."""

from __future__ import annotations

from uuid import uuid4

import pytest

from engram.db.database import driver
from engram.facts.schemas import FactAppend, FactBatch, FactItem, GraphQuestion
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.statistics import counted

ROWS_READ = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables"


async def hub(services: Services, degree: int) -> Space:
    """An agent in which so many name one thing, and each is named by one more."""
    space = await new_space(services)
    items = [
        item
        for n in range(degree)
        for item in (
            FactItem(subject=f"person {n}", predicate="born_in", object="Hubtown"),
            FactItem(subject=f"friend {n}", predicate="knows", object=f"person {n}"),
        )
    ]
    for first in range(0, len(items), 1000):
        batch = FactBatch(agent_id=space.agent_id, items=items[first : first + 1000])
        await services.facts.append_many(DEFAULT_SCOPE, batch)
    async with services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    return space


async def cost_of_a_walk(services: Services, space: Space, query: str, hops: int) -> int:
    before = await counted(services.database, ROWS_READ)
    question = GraphQuestion(agent_id=space.agent_id, query=query, hops=hops, limit=20)
    answer = await services.facts.answer(DEFAULT_SCOPE, question)
    assert len(answer.paths) == 20
    assert answer.truncated
    return await counted(services.database, ROWS_READ) - before


@pytest.mark.parametrize("query", ["hubtown", "7"], ids=["from a hub", "from a leaf"])
async def test_a_hub_is_walked_to_the_bound_and_the_answer_says_so(services: Services, query: str) -> None:
    """However many name it, from it or through it, over as many hops as there may be."""
    few, many = await hub(services, 100), await hub(services, 2000)
    if query != "hubtown":
        for space in (few, many):
            item = FactAppend(agent_id=space.agent_id, subject="leaf", predicate="born_in", object="Hubtown")
            await services.facts.append(DEFAULT_SCOPE, item)
        query = "leaf"
    for hops in (3, 4):
        cost = [await cost_of_a_walk(services, space, query, hops) for space in (few, many)]
        assert cost[1] < 2 * cost[0], cost


async def test_changing_one_fact_reads_no_more_among_many(services: Services) -> None:
    async def cost(degree: int) -> int:
        space = await hub(services, degree)
        source = await space.remember(f"note {uuid4()}")
        before = await counted(services.database, ROWS_READ)
        item = FactAppend(
            agent_id=space.agent_id,
            subject="person 7",
            predicate="born_in",
            object="Hubtown",
            valid_from="2020-01-01",
            sources=[source.id],
        )
        fact = await services.facts.append(DEFAULT_SCOPE, item)
        await services.facts.delete(DEFAULT_SCOPE, fact.id)
        await services.facts.restore(DEFAULT_SCOPE, fact.id)
        await services.facts.undo(DEFAULT_SCOPE, fact.id)
        receipt = await services.changes.purges.purge(DEFAULT_SCOPE, source.id)
        assert receipt.facts == 1
        return await counted(services.database, ROWS_READ) - before

    few, many = await cost(100), await cost(2000)
    assert many < 2 * few, (few, many)
