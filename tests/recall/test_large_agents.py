"""Large agents are searched through the vector index. What they answer is what a full scan would."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engram.db.database import driver
from engram.memories import vectors as vector_search
from engram.recall.schemas import RecallHit
from engram.services import Services
from engram.settings import Settings
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.statistics import counted
from tests.fixtures.wiring import opened


@pytest.fixture
def index_from(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes an agent large from this number of memories on."""
    return lambda number: monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", number - 1)


async def fill(space: Space, number: int, **fields: Any) -> None:
    for start in range(0, number, 1000):
        await space.remember_all(
            {"content": f"memory {place}", **fields} for place in range(start, min(start + 1000, number))
        )


def legs(hits: dict[str, RecallHit]) -> list[tuple[str, float]]:
    return [(id, pytest.approx(hit.vector_score, abs=1e-6)) for id, hit in hits.items()]


async def vector_index_scans(services: Services) -> int:
    """How often the vector index was used."""
    return await counted(
        services.database,
        "SELECT sum(idx_scan)::int FROM pg_stat_user_indexes WHERE indexrelname LIKE 'memories_embedding_%'",
    )


@asynccontextmanager
async def database_setting(services: Services, name: str, value: str) -> AsyncIterator[None]:
    """For connections opened from now on, a setting of the database."""
    async with services.database.transaction() as connection:
        database = await driver(connection).fetchval("SELECT current_database()")
        await driver(connection).execute(f"ALTER DATABASE {database} SET {name} = '{value}'")
    yield


async def test_the_index_finds_what_a_scan_finds(unlinked: Services, index_from: Callable[[int], None]) -> None:
    space = await new_space(unlinked)
    await fill(space, 600)
    questions = [f"question {number}" for number in range(20)]
    scanned = [await space.hits(question, lexical=False, max_hops=0) for question in questions]
    assert await vector_index_scans(unlinked) == 0
    index_from(50)
    found = [await space.hits(question, lexical=False, max_hops=0) for question in questions]
    assert await vector_index_scans(unlinked) == len(questions)
    assert [list(hits) for hits in found] == [list(hits) for hits in scanned]
    assert [legs(hits) for hits in found] == [legs(hits) for hits in scanned]


async def test_two_hundred_are_asked_for_and_two_hundred_come(
    unlinked: Services, index_from: Callable[[int], None]
) -> None:
    space = await new_space(unlinked)
    await fill(space, 600)
    index_from(50)
    hits = await space.hits("anything", lexical=False, max_hops=0, top_k=200)
    assert len(hits) == 200
    scores = [hit.vector_score for hit in hits.values()]
    assert scores == sorted(scores, reverse=True)


async def test_a_small_agent_beside_a_crowd_finds_all_of_its_own(
    unlinked: Services, index_from: Callable[[int], None]
) -> None:
    crowd, few = await new_space(unlinked), await new_space(unlinked)
    await fill(crowd, 2000)
    # Opposite to the query: the crowd is nearer.
    await fill(few, 20, embedding=[-1, 0, 0, 0, 0, 0, 0, 0])
    query = {"embedding": [1, 0, 0, 0, 0, 0, 0, 0], "lexical": False, "max_hops": 0}
    scanned = await few.hits(**query)
    index_from(5)
    found = await few.hits(**query)
    assert len(scanned) == len(found) == 10
    assert len(await few.hits(**query, top_k=100)) == 20


async def test_what_thousands_of_equals_cut_off_from_the_index_is_found(
    unlinked: Services, index_from: Callable[[int], None]
) -> None:
    space = await new_space(unlinked)
    await fill(space, 2000, embedding=[1, 0, 0, 0, 0, 0, 0, 0])
    for number in range(20):
        await space.remember(f"few {number}", tags=["few"], embedding=[-1, 0, 0, 1, 0, 0, 0, number / 100])
    index_from(50)
    assert len(await space.texts(embedding=[1, 0, 0, 0, 0, 0, 0, 0], tags=["few"], lexical=False)) == 10


async def test_a_rare_tag_is_found_however_far_from_the_query(
    settings: Settings, unlinked: Services, index_from: Callable[[int], None]
) -> None:
    space = await new_space(unlinked)
    await fill(space, 3000)
    for number in range(3):
        # Opposite to the query: the last that a scan of the index would come to.
        await space.remember(f"rare {number}", tags=["rare"], embedding=[-1, 0, 0, 0, 0, 0, 0, number / 100])
    async with database_setting(unlinked, "work_mem", "64kB"), opened(settings, unlinked.embedder) as tight:
        index_from(50)
        hits = await Space(tight, space.agent_id).hits(
            embedding=[1, 0, 0, 0, 0, 0, 0, 0], tags=["rare"], lexical=False, max_hops=0
        )
    assert sorted(hit.content for hit in hits.values()) == ["rare 0", "rare 1", "rare 2"]


@pytest.mark.parametrize("large", [False, True])
async def test_zero_vectors_score_zero_and_are_found_by_words(
    unlinked: Services, index_from: Callable[[int], None], large: bool
) -> None:
    space = await new_space(unlinked)
    await fill(space, 60)
    empty = await space.remember("zebra crossing", embedding=[0.0] * 8)
    if large:
        index_from(50)
    hit = (await space.hits("zebra", top_k=100))[empty.id]
    assert (hit.vector_score, hit.lexical_score, hit.graph_score) == (0, 1, 1)
    assert len(await space.hits("no such word", lexical=False, max_hops=0, top_k=100)) == 61


@pytest.mark.parametrize("large", [False, True])
async def test_a_query_without_direction_is_answered_by_words_alone(
    unlinked: Services, index_from: Callable[[int], None], large: bool
) -> None:
    space = await new_space(unlinked)
    await fill(space, 60)
    striped = await space.remember("zebra crossing")
    if large:
        index_from(50)
    hits = await space.hits("zebra", embedding=[0.0] * 8, explain=True)
    assert next(iter(hits)) == striped.id
    for hit in hits.values():
        assert hit.vector_score == 0
        assert math.isfinite(hit.score)
        assert hit.explain is not None
        assert hit.explain.vector_rank is None
