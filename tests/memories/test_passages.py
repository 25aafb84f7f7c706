"""A longer memory is found by its nearest passage."""

from __future__ import annotations

import asyncio
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.db.database import driver
from engram.memories import vectors as vector_search
from engram.memories.changes.schemas import MemoryUpdate
from engram.memories.passages import MAX_PASSAGES, passages
from engram.memories.tuning import MemoryTuning
from engram.recall.tuning import RecallTuning
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from engram.tuning import Tuning
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened

NEEDLE = "Her violin teacher moved to Lisbon in the spring."
HAY = [f"On day {day} the weather report said nothing that anyone remembers afterwards." for day in range(40)]
LONG = " ".join([*HAY[:20], NEEDLE, *HAY[20:]])
QUERY = {"query": "violin teacher", "lexical": False, "max_hops": 0, "top_k": 50}


def whole_only() -> Tuning:
    return Tuning(recall=RecallTuning(passages=False))


async def stored(services: Services, memory_id: str) -> int:
    async with services.database.snapshot() as connection:
        return await driver(connection).fetchval(
            "SELECT count(*)::int FROM memory_passages WHERE memory_id = $1", UUID(memory_id)
        )


async def counted(space: Space) -> int:
    async with space.services.database.snapshot() as connection:
        return await driver(connection).fetchval(
            "SELECT sum(passages)::int FROM agent_counters WHERE agent_id = $1", UUID(space.agent_id)
        )


async def test_a_sentence_in_a_long_text_is_found_by_its_own_vector(space: Space) -> None:
    long = await space.remember(LONG)
    await space.remember("A teacher of mathematics")
    (hit,) = [hit for hit in (await space.ask(**QUERY)).results if hit.id == long.id]
    (whole,) = [hit for hit in (await (await space.tuned(whole_only())).ask(**QUERY)).results if hit.id == long.id]
    assert hit.vector_score > whole.vector_score + 0.1


async def test_what_was_known_is_found_by_its_passages_whatever_but_its_text_has_changed(space: Space) -> None:
    long = await space.remember(LONG)
    known_at = (await space.get(long.id)).recorded_at

    async def score() -> float:
        return (await space.hits(**QUERY, known_at=known_at))[long.id].vector_score

    before = await score()
    await space.services.changes.revisions.update(DEFAULT_SCOPE, long.id, MemoryUpdate(tags=["music"]))
    assert await score() == before
    await space.forget(long.id)
    assert await score() == before
    await space.services.changes.restorations.restore(DEFAULT_SCOPE, long.id)
    update = MemoryUpdate(content=f"{LONG} No violin.")
    await space.services.changes.revisions.update(DEFAULT_SCOPE, long.id, update)
    # The passages are of another text now.
    assert await score() < before


async def test_the_score_is_that_of_the_nearest_passage(space: Space) -> None:
    long = await space.remember(LONG)
    query = await space.services.embedder.embed_query("violin teacher")
    made = await space.services.embedder.embed_passages([LONG, *passages(LONG, MemoryTuning().passage_chars)])
    (hit,) = (await space.ask(**QUERY)).results
    assert hit.id == long.id
    assert hit.vector_score == pytest.approx(float(np.max(made.vectors @ query)), abs=1e-5)


async def test_a_short_text_and_a_given_vector_have_no_passages(space: Space) -> None:
    short = await space.remember("short")
    given_vector = await space.remember(LONG, embedding=space.vector(1))
    assert await stored(space.services, short.id) == await stored(space.services, given_vector.id) == 0


async def test_what_is_deleted_is_found_by_no_passage_until_it_is_restored_and_keeps_none_once_it_is_purged(
    space: Space,
) -> None:
    long = await space.remember(LONG)
    found = (await space.ask(**QUERY)).results
    kept = await stored(space.services, long.id)
    assert kept == await counted(space) > 1
    await space.forget(long.id)
    assert (await space.ask(**QUERY)).results == []
    changes = space.services.changes
    await changes.restorations.restore(DEFAULT_SCOPE, long.id)
    assert [(hit.id, hit.score) for hit in (await space.ask(**QUERY)).results] == [(hit.id, hit.score) for hit in found]
    assert (await changes.purges.purge(DEFAULT_SCOPE, long.id)).passages == kept
    assert await stored(space.services, long.id) == await counted(space) == 0


async def test_a_filter_hides_passages_too(space: Space) -> None:
    await space.remember(LONG, user_id="ada")
    assert (await space.ask(**QUERY, user_id="bob")).results == []


async def test_a_deduplicated_text_is_divided_once(space: Space) -> None:
    first = await space.remember(LONG)
    again = await space.remember(LONG)
    assert again.id == first.id
    assert await counted(space) == await stored(space.services, first.id)


@pytest.mark.parametrize("limit", [10_000, 5])
async def test_many_memories_answer_by_passages_alike_scanned_and_indexed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", limit)
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        space = await new_space(services)
        texts = [
            " ".join(f"Sentence {at} of text {number} is of no importance." for at in range(20)) for number in range(60)
        ]
        stored_ids = ids(await space.remember_all(texts))
        pieces = passages(texts[7], MemoryTuning().passage_chars)
        for piece in pieces:
            (best, *_) = (await space.ask(piece, lexical=False, max_hops=0, top_k=5)).results
            assert best.id == stored_ids[7]
            assert best.vector_score == pytest.approx(1, abs=1e-3)


def test_a_text_of_one_passage_is_not_divided() -> None:
    assert passages("short", 400) == passages(LONG, 0) == passages(LONG, len(LONG)) == []


@given(st.text(max_size=3000), st.integers(1, 500))
def test_passages_are_the_text(text: str, chars: int) -> None:
    pieces = passages(text, chars)
    assert len(pieces) <= MAX_PASSAGES
    at = 0
    for piece in pieces:
        at = text.index(piece, at) + len(piece)
    assert not pieces or len(text) > chars


def test_of_a_book_the_passages_are_longer() -> None:
    book = "A sentence of a book that is long. " * 20_000
    pieces = passages(book, 400)
    assert MAX_PASSAGES / 3 < len(pieces) <= MAX_PASSAGES
    assert sum(map(len, pieces)) == len(book)


async def test_one_memory_full_of_near_passages_hides_no_other(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 5)
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        space = await new_space(services)
        piece = "The very same sentence of nearly two hundred characters stands in this memory so often that all"
        piece += " passages which are near the question are passages of it, as long as only so many are read at all. "
        hog = await space.remember(piece * 300)
        other = await space.remember(f"{piece}{'Something else. ' * 13}")
        found = await space.ask(piece, lexical=False, max_hops=0, top_k=5)
        assert {hit.id for hit in found.results} == {hog.id, other.id}
        assert all(hit.vector_score == pytest.approx(1, abs=1e-3) for hit in found.results)


async def test_writers_and_deleters_of_long_memories_do_not_wait_for_each_other_for_ever(
    settings: Settings,
) -> None:
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        space = await new_space(services)

        async def work(worker: int) -> None:
            for at in range(12):
                written = await space.remember(f"Worker {worker} writes {at}. {LONG}")
                await space.forget(written.id)

        await asyncio.gather(*(work(worker) for worker in range(8)))
        found = (await space.ask(**QUERY)).results
        assert found == []
