"""What a recall reads follows what it answers with, not how much an agent holds; also before any table was analysed."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

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


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9)) as services:
        yield services


async def fill(space: Space, number: int, *, vector: list[float] | None = None, related: bool = True) -> None:
    """Memories that share sessions and, if related, words and names: about thirty a name."""
    chance = random.Random(number)
    for start in range(0, number, 500):
        await space.remember_all(
            {
                "content": " ".join([*(chance.sample(WORDS, 4) if related else ()), f"{related}{start + place}"]),
                "session_id": f"{related} {place // 20}",
                "entities": [chance.choice(NAMES)] if related else [],
                "embedding": vector,
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
    # About a hundred memories are gone on from. To scan the agent for each would be ten times this.
    assert two_hops < 100 * MEMORIES / 10


async def test_what_a_recall_reads_does_not_grow_with_what_it_has_nothing_to_do_with(
    services: Services, large: None
) -> None:
    space = await new_space(services)
    await fill(space, MEMORIES)
    before = await read_by(space)
    # Opposite to the query, in sessions of their own, without its words or any name.
    await fill(space, MEMORIES, vector=space.vector(-1), related=False)
    assert await read_by(space) < 1.2 * before


async def test_a_small_agent_is_scanned_once(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    space = await new_space(services)
    await fill(space, MEMORIES)
    scanned = await read_by(space)
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 10)
    indexed = await read_by(space)
    assert 0 < scanned - indexed < 1.1 * MEMORIES
