"""A memory is found by what it states as by its text: by words, by a passage of its own, and through the ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from engram.db.database import driver
from engram.memories.changes.schemas import MemoryUpdate
from engram.memories.passages import MAX_PASSAGES, passages
from engram.memories.schemas import MemoryBatch, MemoryItem
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space

TEXT = "They shook hands at last."
RELATIONS = [["Vesper Mills", "was acquired by", "Norrland Paper"]]
WORDS = {"query": "acquired Norrland", "max_hops": 0}
STATEMENT = {"query": "Vesper Mills was acquired by Norrland Paper.", "lexical": False, "max_hops": 0}


async def remembered(space: Space) -> str:
    return (await space.remember(TEXT, relations=RELATIONS)).id


async def revise(space: Space, id: str, relations: Sequence[Any]) -> None:
    update = MemoryUpdate(relations=relations)
    await space.services.changes.revisions.update(DEFAULT_SCOPE, id, update)


async def lexical(space: Space, id: str, **asked: Any) -> float:
    hits = await space.hits(**{**WORDS, **asked})
    return hits[id].lexical_score if id in hits else 0.0


async def vector(space: Space, id: str, **asked: Any) -> float:
    return (await space.hits(**{**STATEMENT, **asked}))[id].vector_score


async def stored(space: Space, id: str) -> int:
    async with space.services.database.snapshot() as connection:
        return await driver(connection).fetchval("SELECT count(*) FROM memory_passages WHERE memory_id = $1", UUID(id))


async def test_by_its_words_and_by_the_sentence_that_it_makes(space: Space) -> None:
    id = await remembered(space)
    assert await lexical(space, id) == 1.0
    assert await vector(space, id) > 0.99
    assert await stored(space, id) == 1


async def test_through_the_ends_of_what_others_state(space: Space) -> None:
    first = await space.remember("Rain in the harbour.", relations=[["harbour", "belongs to", "Norrland Paper"]])
    second = await remembered(space)
    hits = await space.hits(query="rain", top_k=10)
    assert hits[first.id].lexical_score == 1.0
    assert hits[second].graph_score > 0
    assert [entity.name for entity in (await space.get(second)).entities] == ["Norrland Paper", "Vesper Mills"]


async def test_what_is_stated_otherwise_is_found_so_and_what_was_known_stays(space: Space) -> None:
    id = await remembered(space)
    known_at = (await space.get(id)).recorded_at
    await revise(space, id, [["Vesper Mills", "sued", "Quill Partners"]])
    assert await lexical(space, id) == 0.0
    assert await lexical(space, id, query="sued Quill") == 1.0
    assert await vector(space, id, query="Vesper Mills sued Quill Partners.") > 0.99
    assert await stored(space, id) == 1
    assert await lexical(space, id, known_at=known_at) == 1.0
    assert await lexical(space, id, query="sued Quill", known_at=known_at) == 0.0
    # Passages are of what it states now.
    assert await vector(space, id, query="Vesper Mills sued Quill Partners.", known_at=known_at) < 0.9
    await revise(space, id, [])
    assert await lexical(space, id, query="sued Quill") == 0.0
    assert await stored(space, id) == 0


async def test_what_changes_nothing_of_it_leaves_it(space: Space) -> None:
    id = await remembered(space)
    known_at = (await space.get(id)).recorded_at
    subject, predicate, object = RELATIONS[0]
    surer = {"subject": subject, "predicate": predicate, "object": object, "confidence": 0.5}
    await revise(space, id, [surer])
    assert await vector(space, id) > 0.99
    assert await vector(space, id, known_at=known_at) > 0.99
    update = MemoryUpdate(tags=["paper"])
    await space.services.changes.revisions.update(DEFAULT_SCOPE, id, update)
    await space.forget(id)
    await space.services.changes.restorations.restore(DEFAULT_SCOPE, id)
    assert await lexical(space, id) == 1.0
    assert await vector(space, id) > 0.99


async def test_what_is_withheld_is_found_by_nothing_of_it(space: Space) -> None:
    item = MemoryItem(content=TEXT, relations=RELATIONS, sensitivity="high")
    batch = MemoryBatch(agent_id=space.agent_id, items=[item])
    (written,) = (await space.services.memories.create_many(DEFAULT_SCOPE, batch)).results
    assert await lexical(space, written.id) == 0.0
    assert await stored(space, written.id) == 0
    # Said of it alone, it counts.
    await revise(space, written.id, RELATIONS)
    assert await lexical(space, written.id) == 1.0
    assert await stored(space, written.id) == 1


async def test_a_purge_leaves_nothing_of_it(space: Space) -> None:
    id = await remembered(space)
    await space.services.changes.purges.purge(DEFAULT_SCOPE, id)
    assert await stored(space, id) == 0
    assert not (await space.ask(**WORDS)).results


def test_it_is_one_passage_whatever_the_length_of_the_text() -> None:
    relations = [
        {"subject": "a", "predicate": "belongs_to", "object": "b"},
        {"subject": "b", "predicate": "is", "object": "c"},
    ]
    assert passages("short", 200, relations) == ["a belongs to b. b is c."]
    assert passages("short", 0, relations) == passages("short", 200) == []
    long = passages("One more sentence of it. " * 20_000, 200, relations)
    assert 2 < len(long) <= MAX_PASSAGES
    assert long[-1] == "a belongs to b. b is c."
