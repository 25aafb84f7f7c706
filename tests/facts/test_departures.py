"""Where the library parts from the one it is held against: each departure that ``docs/facts.md`` lists."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from loomflow import memory as theirs
from loomflow.memory import facts as their_facts

from engram import facts as ours
from tests.facts.stories import day


def both(*said: str, **fields: Any) -> tuple[list[Any], list[Any]]:
    """The same facts as theirs and as ours, all learnt at once."""
    spelt = [
        {"subject": subject, "predicate": predicate, "object": object_, "recorded_at": day(1), **fields}
        for subject, predicate, object_ in (text.split(" ") for text in said)
    ]
    return [their_facts.Fact(**each) for each in spelt], [ours.Fact(**each) for each in spelt]


def test_ids_are_uuids() -> None:
    (their_fact,), (our_fact,) = both("alice works_at acme")
    assert str(UUID(our_fact.id)) == our_fact.id
    with pytest.raises(ValueError, match="UUID"):
        ours.Fact(**their_fact.model_dump())


@pytest.mark.parametrize(
    "fields",
    [
        {"subject": " "},
        {"object": ""},
        {"predicate": "--"},
        {"predicate": " "},
        {"subject": "a\x00b"},
        {"object": "a\x1bb"},
        {"subject": "a" * 513},
        {"confidence": 1.5},
        {"valid_until": day(1)},
        {"user_id": ""},
    ],
    ids=lambda fields: ascii(fields)[:40],
)
def test_facts_that_say_nothing_or_cannot_be_stored_are_refused(fields: dict[str, Any]) -> None:
    spelt = {"subject": "alice", "predicate": "is", "object": "x", "valid_from": day(2), **fields}
    their_facts.Fact(**spelt)
    with pytest.raises(ValueError, match=next(iter(fields))):
        ours.Fact(**spelt)


def test_facts_cannot_be_changed() -> None:
    (their_fact,), (our_fact,) = both("alice works_at acme")
    their_fact.object = "initech"
    with pytest.raises(ValueError, match="frozen"):
        our_fact.object = "initech"


async def test_an_id_is_taken_once() -> None:
    (their_fact,), (our_fact,) = both("alice works_at acme")
    their_store, our_store = their_facts.InMemoryFactStore(), ours.InMemoryFactStore()
    await their_store.append_many([their_fact, their_fact])
    assert await their_store.count() == 1
    with pytest.raises(ValueError, match="already"):
        await our_store.append_many([our_fact, our_fact])


async def test_one_fact_is_deleted_by_its_id() -> None:
    (_, their_fact), (_, our_fact) = both("alice works_at acme", "acme operates_in tokyo")
    their_store, our_store = their_facts.InMemoryFactStore(), ours.InMemoryFactStore()
    await their_store.append(their_fact)
    await our_store.append(our_fact)
    assert await their_store.delete(user_id=None) == 1
    assert await our_store.delete(our_fact.id) is True
    assert await our_store.delete(our_fact.id) is False


async def test_a_negative_limit_is_none_at_all() -> None:
    their_said, our_said = both("alice knows bob", "bob knows carol")
    their_store, our_store = their_facts.InMemoryFactStore(), ours.InMemoryFactStore()
    await their_store.append_many(their_said)
    await our_store.append_many(our_said)
    assert len(await their_store.query(limit=-1)) == 1
    assert list(await our_store.query(limit=-1)) == []
    assert len(await theirs.recall_graph(their_store, "alice", limit=-1)) == 1
    assert await ours.recall_graph(our_store, "alice", limit=-1) == []
    assert await ours.recall_graph(our_store, "alice", fetch_limit=-1) == []


async def test_a_fact_that_never_holds_ends_what_begins_with_it() -> None:
    ends = {}
    for library, store in ((their_facts, their_facts.InMemoryFactStore()), (ours, ours.InMemoryFactStore())):
        await store.append(library.Fact(subject="a", predicate="is", object="x", valid_from=day(1)))
        await store.append(library.Fact(subject="a", predicate="is", object="y", valid_from=day(1), valid_until=day(1)))
        ends[library] = [each.valid_until for each in await store.query(object_="x")]
    assert ends == {their_facts: [None], ours: [day(1)]}


def test_paths_that_rank_the_same_have_an_order_of_their_own() -> None:
    _, our_said = both("alice knows bob", "alice knows carol", "alice knows dave")
    expected = [[each.id] for each in sorted(our_said, key=lambda each: each.id)]
    for facts in (our_said, our_said[::-1]):
        paths = ours.FactGraph.from_facts(facts).traverse(["alice"])
        assert [[each.id for each in path.facts] for path in paths] == expected


def test_of_more_paths_than_are_looked_at_the_shortest_are_kept() -> None:
    people = [f"person{number}" for number in range(30)]
    their_said, our_said = both(*(f"{one} knows {other}" for one in people for other in people if one < other))
    their_paths = theirs.FactGraph.from_facts(their_said).traverse(people, hops=4, limit=10**6)
    our_paths = ours.FactGraph.from_facts(our_said).traverse(people, hops=4, limit=10**6)
    assert len(their_paths) == len(our_paths) == 10_000
    of_one = 30 * 29
    assert sum(len(path.edges) == 1 for path in our_paths) == of_one
    assert sum(len(path.edges) == 1 for path in their_paths) < of_one


def test_an_answer_says_whether_there_is_more() -> None:
    their_said, our_said = both("alice knows bob", "alice met carol")
    assert not hasattr(theirs.FactGraph.from_facts(their_said).traverse(["alice"], limit=1), "truncated")
    assert ours.FactGraph.from_facts(our_said).traverse(["alice"], limit=1).truncated


async def test_a_fact_may_stand_beside_others() -> None:
    store = ours.InMemoryFactStore()
    for language in ("french", "dutch"):
        await store.append(ours.Fact(subject="alice", predicate="speaks", object=language, supersede=False))
    held = await store.query(valid_at=datetime.now(UTC))
    assert {each.object for each in held} == {"french", "dutch"}
