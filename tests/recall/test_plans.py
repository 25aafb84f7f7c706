"""What a recall reads follows what it answers with, not how much an agent holds; also before any table was analysed."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from engram.db.database import driver
from engram.memories import vectors as vector_search
from engram.services import Services
from engram.settings import Settings
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened

MEMORIES = 1500
WORDS = [f"word{number}" for number in range(150)]
NAMES = [f"Name{number:03}" for number in range(50)]
LOOKED_UP = {
    "memories": r"\b(id|session_id) = ",
    "edges": r"\b(source_id|target_id) = ",
    "mentions": r"\b(memory_id|entity_id) = ",
    "memory_lexemes": r"\bmemory_id = ",
}
"""What an index is asked for, by table, where a scan does not read all that an agent holds."""


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9)) as services:
        yield services


async def fill(space: Space, number: int, *, related: bool = True, **fields: object) -> None:
    """Memories that share sessions and, if related, words and names: about thirty a name."""
    chance = random.Random(number)
    for start in range(0, number, 500):
        await space.remember_all(
            {
                "content": " ".join([*(chance.sample(WORDS, 4) if related else ()), f"{related}{start + place}"]),
                "session_id": f"{related} {place // 20}",
                "entities": [chance.choice(NAMES)] if related else [],
                **fields,
            }
            for place in range(500)
        )


async def rows_read(services: Services) -> int:
    """Rows and index entries read so far, as Postgres counts them."""
    async with services.database.transaction() as connection:
        await driver(connection).execute("SELECT pg_stat_force_next_flush()")
    async with services.database.snapshot() as connection:
        return await driver(connection).fetchval(
            """
            SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::bigint
                + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::bigint
            """
        )


async def read_by(space: Space, **asked: object) -> int:
    before = await rows_read(space.services)
    await space.ask("word1 word2 Name003", embedding=space.vector(1), **asked)
    return await rows_read(space.services) - before


async def walk_of(space: Space, **asked: object) -> list[dict[str, Any]]:
    """The nodes of the plan of a recall's walk."""
    said: list[Any] = []
    # Of a pool the connection used last is used next.
    async with space.services.database.transaction() as connection:
        driver(connection).add_query_logger(said.append)
    await space.ask("word1 word2 Name003", embedding=space.vector(1), **asked)
    async with space.services.database.transaction() as connection:
        driver(connection).remove_query_logger(said.append)
        (walk,) = [statement for statement in said if "frontier0" in statement.query]
        plan = await driver(connection).fetchval(f"EXPLAIN (FORMAT JSON) {walk.query}", *walk.args)
    return list(nodes(plan[0]["Plan"]))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every agent of the test is searched through the vector index."""
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 10)


async def test_a_walk_probes_the_memories_it_comes_to_and_scans_none(services: Services, large: None) -> None:
    space = await new_space(services)
    await fill(space, MEMORIES)
    alone = await read_by(space, max_hops=0)
    hop, two_hops = await read_by(space, max_hops=1), await read_by(space, max_hops=2)
    assert alone < hop < two_hops
    # About a hundred memories are gone on from. To scan the agent for each would be eight times this.
    assert two_hops < 100 * MEMORIES / 8


FILTERS: list[dict[str, Any]] = [
    {},
    {"session_id": "True 3"},
    {"user_id": "ada", "tags": ["a"]},
    {"metadata": {"k": {"gte": 1}}},
    {"as_of": "2025-01-01T00:00:00Z", "valid_from": "2024-01-01T00:00:00Z"},
]


@pytest.mark.parametrize("analysed", [False, True])
async def test_a_walk_looks_rows_up_by_what_it_came_from(services: Services, large: None, analysed: bool) -> None:
    space = await new_space(services)
    await fill(space, 500, user_id="ada", tags=["a"], metadata={"k": 1}, valid_from="2024-01-01T00:00:00Z")
    if analysed:
        async with services.database.transaction() as connection:
            await driver(connection).execute("ANALYZE")
    for filters in FILTERS:
        scans = [node for node in await walk_of(space, **filters) if node.get("Relation Name") in LOOKED_UP]
        assert {scan["Relation Name"] for scan in scans} == set(LOOKED_UP)
        for scan in scans:
            condition = scan.get("Index Cond", scan["Node Type"])
            assert re.search(LOOKED_UP[scan["Relation Name"]], condition), f"{filters}: {condition}"


async def test_what_a_recall_reads_does_not_grow_with_what_it_has_nothing_to_do_with(
    services: Services, large: None
) -> None:
    space = await new_space(services)
    await fill(space, MEMORIES)
    before = await read_by(space)
    # Opposite to the query, in sessions of their own, without its words or any name.
    await fill(space, MEMORIES, related=False, embedding=space.vector(-1))
    assert await read_by(space) < 1.2 * before


async def test_a_small_agent_is_scanned_once(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    space = await new_space(services)
    await fill(space, MEMORIES)
    scanned = await read_by(space)
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 10)
    indexed = await read_by(space)
    assert 0 < scanned - indexed < 1.1 * MEMORIES
