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
from tests.fixtures.statistics import counted
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
LOOKED_UP_OF_THE_PAST = {
    # Or by what was known at the instant, which in this test is nothing that was changed since.
    "memory_versions": r"\b(memory_id|session_id) = |recorded_until > ",
    "edge_versions": r"\b(source_id|target_id) = ",
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
    """Rows and index entries read so far."""
    return await counted(
        services.database,
        """
        SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::bigint
            + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::bigint
        """,
    )


async def read_by(space: Space, **asked: object) -> int:
    before = await rows_read(space.services)
    await space.ask("word1 word2 Name003", embedding=space.vector(1), **asked)
    return await rows_read(space.services) - before


async def plan_of(space: Space, marked: str, **asked: object) -> list[dict[str, Any]]:
    """The nodes of the plan of the statement of a recall that holds this text."""
    said: list[Any] = []
    # Of a pool the connection used last is used next.
    async with space.services.database.transaction() as connection:
        driver(connection).add_query_logger(said.append)
    await space.ask("word1 word2 Name003", embedding=space.vector(1), **asked)
    async with space.services.database.transaction() as connection:
        driver(connection).remove_query_logger(said.append)
        (found,) = [statement for statement in said if marked in statement.query]
        plan = await driver(connection).fetchval(f"EXPLAIN (FORMAT JSON) {found.query}", *found.args)
    return list(nodes(plan[0]["Plan"]))


async def walk_of(space: Space, **asked: object) -> list[dict[str, Any]]:
    """The nodes of the plan of a recall's walk."""
    return await plan_of(space, "frontier0", **asked)


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
    {"known_at": "2999-01-01T00:00:00Z"},
    {"known_at": "2999-01-01T00:00:00Z", "as_of": "2025-01-01T00:00:00Z", "tags": {"none": ["b"]}},
]


async def age(services: Services) -> None:
    """All memories and edges were something else before."""
    async with services.database.transaction() as connection:
        await driver(connection).execute(
            """
            INSERT INTO memory_versions
            SELECT m.agent_id, m.id, 1, m.tenant_id, m.updated_at - interval '1 s', m.updated_at, 'update', m.status,
                m.user_id, m.session_id, m.key, m.slot_hash, m.valid_from, m.valid_until, m.stated_until, m.earlier,
                m.recorded_at, m.deleted_at, m.superseded_by, m.source, m.confidence, m.tags, m.metadata,
                m.declared_entities, m.chunks, m.asks, w.length, m.embedding_model_id, m.embedding, m.content,
                w.lexemes
            FROM memories m JOIN memory_lexemes w ON w.agent_id = m.agent_id AND w.memory_id = m.id
            """
        )
        await driver(connection).execute(
            """
            INSERT INTO edge_versions (agent_id, source_id, target_id, relation_type, recorded_until, tenant_id,
                recorded_from, recorded_at, weight, origin)
            SELECT agent_id, source_id, target_id, relation_type, updated_at, tenant_id,
                updated_at - interval '1 s', recorded_at, weight, origin
            FROM edges
            """
        )


@pytest.mark.parametrize("analysed", [False, True])
async def test_a_walk_looks_rows_up_by_what_it_came_from(services: Services, large: None, analysed: bool) -> None:
    space = await new_space(services)
    await fill(space, 500, user_id="ada", tags=["a"], metadata={"k": 1}, valid_from="2024-01-01T00:00:00Z")
    await age(services)
    if analysed:
        async with services.database.transaction() as connection:
            await driver(connection).execute("ANALYZE")
    for filters in FILTERS:
        looked_up = LOOKED_UP | (LOOKED_UP_OF_THE_PAST if "known_at" in filters else {})
        plan = await walk_of(space, **filters)
        scans = [node for node in plan if node.get("Relation Name") in LOOKED_UP | LOOKED_UP_OF_THE_PAST]
        assert {scan["Relation Name"] for scan in scans} == set(looked_up)
        for scan in scans:
            condition = scan.get("Index Cond", scan["Node Type"])
            assert re.search(looked_up[scan["Relation Name"]], condition), f"{filters}: {condition}"


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


async def arms_of(space: Space, **asked: object) -> list[dict[str, Any]]:
    """The nodes of the plan of a recall's arms."""
    return await plan_of(space, "matches AS", **asked)


async def few(space: Space) -> None:
    await space.remember_all({"content": f"word1 note {at}", "session_id": "s"} for at in range(10))


@pytest.fixture
async def loaded(services: Services) -> Space:
    """A large agent with a hub, among many small ones; all counted."""
    space = await new_space(services)
    await fill(space, MEMORIES)
    await space.remember_all({"content": f"about the hub {at}", "entities": ["Hub"]} for at in range(400))
    for _ in range(40):
        await few(await new_space(services))
    async with services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    return space


@pytest.mark.parametrize(
    "when", [{}, {"as_of": "2999-01-01"}, {"known_at": "2999-01-01"}, {"as_of": "2999-01-01", "known_at": "2999-01-01"}]
)
async def test_the_nearest_of_a_large_agent_come_from_the_vector_index(
    loaded: Space, large: None, when: dict[str, Any]
) -> None:
    plan = await arms_of(loaded, **when)
    (nearest,) = [node for node in plan if node.get("Index Name", "").startswith("memories_embedding_")]
    assert "<=>" in nearest["Order By"]
    # A scan of all stands beside it for where filters leave too few, and is not begun otherwise.
    assert any("InitPlan" in node.get("One-Time Filter", "") for node in plan)


async def test_the_nearest_of_a_small_agent_are_found_among_its_own_rows(loaded: Space) -> None:
    small = await new_space(loaded.services)
    await few(small)
    read = await read_by(small)
    # Its memories several times over, and nothing of the two thousand others.
    assert read < 400
    assert not any(node.get("Index Name", "").startswith("memories_embedding_") for node in await arms_of(small))


async def test_postings_are_read_from_their_index_by_agent_and_term(loaded: Space, large: None) -> None:
    scans = [node for node in await arms_of(loaded) if node.get("Relation Name") == "memory_terms"]
    assert {node["Node Type"] for node in scans} == {"Index Only Scan"}
    assert all("agent_id = " in scan["Index Cond"] and "term = " in scan["Index Cond"] for scan in scans)


async def test_candidates_and_their_words_are_looked_up_one_by_one(loaded: Space, large: None) -> None:
    scans = [node for node in await arms_of(loaded) if node.get("Relation Name") == "memory_lexemes"]
    assert scans
    assert all("memory_id = " in scan["Index Cond"] for scan in scans)


async def test_a_hub_is_counted_to_its_bound_and_only_what_is_about_it_is_read(loaded: Space, large: None) -> None:
    before = await read_by(loaded)
    after = await rows_read(loaded.services)
    await loaded.ask("word1 Hub", embedding=loaded.vector(1))
    assert await rows_read(loaded.services) - after < 2 * before
    scans = [node for node in await walk_of(loaded) if node.get("Relation Name") == "mentions"]
    assert {scan["Index Name"] for scan in scans} == {"mentions_pkey", "mentions_memory_idx", "mentions_subject_idx"}
