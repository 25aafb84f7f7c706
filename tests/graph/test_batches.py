"""Many edges in one call: all or none, and side by side with others."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from engram.db.database import driver
from engram.graph.schemas import EdgeBatch, EdgeCreate, EdgesCreated, RelationType
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
RELATIONS = [RelationType.causal, RelationType.supports, RelationType.contradicts]
WRITERS = 32
ROUNDS = 200


async def strangers(space: Space, number: int) -> list[str]:
    return ids(
        await space.remember_all(
            {"content": f"memory {place}", "embedding": space.vector(*[0.0] * place, 1.0)} for place in range(number)
        )
    )


async def link_all(space: Space, *edges: EdgeCreate) -> EdgesCreated:
    return await space.services.graph.create_edges(DEFAULT_SCOPE, EdgeBatch(edges=[*edges]))


def edge(source: str, target: str, relation: RelationType = RelationType.causal, **fields: object) -> EdgeCreate:
    return EdgeCreate.model_validate({"source_id": source, "target_id": target, "relation_type": relation, **fields})


async def test_a_batch_says_of_each_edge_how_it_stands_and_whether_it_is_new(space: Space) -> None:
    one, two, three = await strangers(space, 3)
    await space.link(one, two, "causal", weight=0.5, label="stood")
    await space.link(two, three, "causal")
    await space.unlink(two, three, "causal")
    written = await link_all(
        space,
        edge(three, one, RelationType.contradicts, weight=0.2),
        edge(one, two, weight=0.3),
        edge(two, three, weight=0.4),
        # The same as the first, seen from its other end.
        edge(one, three, RelationType.contradicts, weight=0.6, label="again"),
    )
    assert [(each.created, each.weight, each.label) for each in written.results] == [
        (True, 0.6, "again"),
        (False, 0.5, "stood"),
        (True, 0.4, None),
        (True, 0.6, "again"),
    ]
    assert [(each.source_memory_id, each.target_memory_id) for each in written.results] == [
        *((three, one), (one, two), (two, three), (one, three))
    ]
    assert written.created == 2
    assert len(await space.edges(one)) == 2


async def test_a_batch_is_written_wholly_or_not_at_all(shared_services: Services, space: Space) -> None:
    one, two = await strangers(space, 2)
    (elsewhere,) = await strangers(await new_space(shared_services), 1)
    await space.link(two, one, "causal", valid_from=NOON)
    good = edge(one, two)
    with pytest.raises(InvalidInputProblem) as refused:
        await link_all(space, good, edge(two, one, valid_until=NOON - timedelta(days=1)))
    assert refused.value.errors[0].field == "edges.1.valid_until"
    with pytest.raises(InvalidInputProblem) as refused:
        await link_all(space, good, edge(one, elsewhere))
    assert refused.value.errors[0].field == "edges.1.target_id"
    missing = str(uuid4())
    with pytest.raises(NotFoundProblem, match=missing):
        await link_all(space, good, edge(one, missing))
    assert [each.direction.value for each in await space.edges(one)] == ["in"]


async def test_edges_said_twice_in_a_batch_count_one_after_the_other(space: Space) -> None:
    one, two = await strangers(space, 2)
    day = timedelta(days=1)
    await link_all(
        space,
        edge(one, two, valid_from=NOON, valid_until=NOON + day),
        edge(one, two, valid_from=NOON + 2 * day, valid_until=NOON + 3 * day),
    )
    (shown,) = await space.edges(one, include_invalidated=True)
    assert (shown.valid_from, shown.valid_until) == (NOON + 2 * day, NOON + 3 * day)
    async with space.services.database.snapshot() as connection:
        row = await driver(connection).fetchrow(
            "SELECT earlier FROM edges WHERE agent_id = $1 AND source_id = $2", UUID(space.agent_id), UUID(one)
        )
    (earlier,) = row["earlier"]
    assert (earlier.lower, earlier.upper) == (NOON, NOON + day)


async def test_writers_of_overlapping_edges_in_opposite_orders_lose_no_weight_and_do_not_deadlock(space: Space) -> None:
    memories = await strangers(space, 6)
    chance = random.Random(6)
    pairs = [(one, other) for one in memories for other in memories if one != other]
    heaviest: dict[tuple[str, str, str], float] = {}
    rounds_left = iter(range(ROUNDS))

    def some_edges(backwards: bool) -> list[EdgeCreate]:
        chosen = [
            edge(*pair, relation, weight=chance.randint(1, 1000) / 1000)
            for pair in sorted(chance.sample(pairs, 6), reverse=backwards)
            for relation in RELATIONS
        ]
        for each in chosen:
            ends = (each.source_id, each.target_id)
            source, target = sorted(ends) if each.relation_type is RelationType.contradicts else ends
            key = (source, target, each.relation_type.value)
            heaviest[key] = max(heaviest.get(key, 0), each.weight)
        return chosen

    async def write(writer: int) -> None:
        for round in rounds_left:
            edges = some_edges(backwards=(writer + round) % 2 == 0)
            if round % 20 == 0:
                await space.link(edges[0].source_id, edges[0].target_id, edges[0].relation_type, weight=0.001)
            await link_all(space, *edges)

    await asyncio.wait_for(asyncio.gather(*map(write, range(WRITERS))), 120)
    found = {
        (each.source_memory_id, each.target_memory_id, each.relation_type.value): each.weight
        for memory in memories
        for each in await space.edges(memory)
        if each.direction != "in" and (each.direction == "out" or each.source_memory_id < each.target_memory_id)
    }
    assert found == heaviest
    async with space.services.database.snapshot() as connection:
        overlapping = await driver(connection).fetchval(
            """
            WITH known AS (
                SELECT source_id, target_id, relation_type, recorded_from, recorded_until, weight FROM edge_versions
                WHERE agent_id = $1
                UNION ALL
                SELECT source_id, target_id, relation_type, updated_at, 'infinity', weight FROM edges
                WHERE agent_id = $1
            ),
            following AS (
                SELECT recorded_until, weight, lead(recorded_from) OVER edge AS next, lead(weight) OVER edge AS heavier
                FROM known
                WINDOW edge AS (PARTITION BY source_id, target_id, relation_type ORDER BY recorded_from)
            )
            SELECT count(*) FROM following WHERE next <> recorded_until OR heavier <= weight
            """,
            UUID(space.agent_id),
        )
    assert overlapping == 0
