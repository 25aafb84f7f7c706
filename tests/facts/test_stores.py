"""What ends what when facts are stored, and how they are found again: the store in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations, product

import pytest

from engram.facts import Fact, InMemoryFactStore
from engram.facts.schemas import ClosurePolicy
from tests.facts.stories import day, fact, moved, store_of


async def windows(store: InMemoryFactStore) -> dict[str, tuple[datetime, datetime | None]]:
    """When each object holds."""
    found = await store.query(user_id="alice", limit=100)
    return {each.object: (each.valid_from, each.valid_until) for each in found}


async def test_a_fact_has_the_defaults_that_are_told() -> None:
    before = datetime.now(UTC)
    plain = Fact(subject="alice", predicate="worksAt", object="acme")
    assert (plain.user_id, plain.confidence, plain.valid_until, plain.sources) == (None, 1.0, None, [])
    assert before <= plain.valid_from <= plain.recorded_at <= datetime.now(UTC)
    assert plain.predicate == "works_at"
    assert plain.id != Fact(subject="alice", predicate="worksAt", object="acme").id


async def test_another_object_ends_what_was_said_when_it_begins() -> None:
    store = await moved()
    acme, initech = sorted(await store.query(subject="alice", user_id="alice"), key=lambda found: found.object)
    assert (acme.valid_from, acme.valid_until) == (day(1), day(10))
    assert (acme.closed_by, acme.superseded_by) == (ClosurePolicy.supersession, initech.id)
    assert (initech.valid_until, initech.closed_by, initech.superseded_by) == (None, None, None)


async def test_what_is_learnt_late_ends_where_the_next_begins() -> None:
    store = await moved()
    await store.append(fact("alice works_at hooli", valid_from=day(5)))
    held = await windows(store)
    assert held["acme"] == (day(1), day(5))
    assert held["hooli"] == (day(5), day(10))
    assert held["initech"] == (day(10), None)


async def test_ends_do_not_depend_on_the_order_of_arrival() -> None:
    said = [fact(f"alice works_at o{number}", valid_from=day(number)) for number in (1, 4, 7, 9)]
    for facts in permutations(said):
        held = await windows(await store_of(*facts))
        assert held == {"o1": (day(1), day(4)), "o4": (day(4), day(7)), "o7": (day(7), day(9)), "o9": (day(9), None)}


async def test_of_two_that_begin_together_the_one_that_came_last_stands() -> None:
    held = await windows(await store_of(fact("alice works_at acme"), fact("alice works_at initech")))
    assert held == {"acme": (day(1), day(1)), "initech": (day(1), None)}


async def test_the_same_said_twice_ends_nothing() -> None:
    store = await store_of(fact("alice works_at acme"), fact("alice works_at acme", valid_from=day(3)))
    assert [found.valid_until for found in await store.query(user_id="alice")] == [None, None]


@pytest.mark.parametrize(
    "other",
    [
        fact("Alice works_at initech", valid_from=day(10)),
        fact("alice worked_at initech", valid_from=day(10)),
        fact("alice works_at initech", valid_from=day(10), user_id="bob"),
        fact("alice works_at initech", valid_from=day(10), user_id=None),
        fact("alice works_at initech", valid_from=day(10), supersede=False),
    ],
    ids=["spelt otherwise", "another predicate", "another user", "no user", "one of many"],
)
async def test_what_is_said_elsewhere_or_beside_it_ends_nothing(other: Fact) -> None:
    store = await store_of(fact("alice works_at acme"), other)
    assert {each.valid_until for user in ("alice", "bob", None) for each in await store.query(user_id=user)} == {None}


async def test_a_predicate_is_one_however_it_is_spelt() -> None:
    store = await store_of(*(fact(f"alice {name} {name}") for name in ("worksAt", "works-at", "works_at")))
    assert len(await store.query(user_id="alice", predicate="Works At")) == 3
    assert [each.object for each in await store.query(user_id="alice", valid_at=day(2))] == ["works_at"]


async def test_windows_that_only_touch_end_nothing() -> None:
    store = await store_of(
        fact("alice works_at acme", valid_until=day(5)),
        fact("alice works_at initech", valid_from=day(5), valid_until=day(9)),
    )
    assert await windows(store) == {"acme": (day(1), day(5)), "initech": (day(5), day(9))}
    assert {each.superseded_by for each in await store.query(user_id="alice")} == {None}


async def test_a_fact_beside_others_is_ended_by_what_comes_after_it() -> None:
    beside = {"supersede": False}
    store = await store_of(
        fact("alice speaks french", **beside), fact("alice speaks dutch", valid_from=day(3), **beside)
    )
    assert await windows(store) == {"french": (day(1), None), "dutch": (day(3), None)}
    await store.append(fact("alice speaks latin", valid_from=day(5)))
    assert await windows(store) == {"french": (day(1), day(5)), "dutch": (day(3), day(5)), "latin": (day(5), None)}
    # What is there already was no news to its writer.
    await store.append(fact("alice speaks greek", valid_from=day(4), **beside))
    assert (await windows(store))["greek"] == (day(4), None)


async def test_facts_are_found_by_what_they_say_the_one_learnt_last_first() -> None:
    store = await store_of(
        *(fact(f"{who} likes {what}", recorded_at=day(at)) for at, (who, what) in enumerate(product("ab", "xy"), 1))
    )
    said = {who: [each.object for each in await store.query(subject=who, user_id="alice")] for who in "ab"}
    assert said == {"a": ["y", "x"], "b": ["y", "x"]}
    assert [each.subject for each in await store.query(object_="x", user_id="alice")] == ["b", "a"]
    assert [each.recorded_at for each in await store.query(user_id="alice", limit=2)] == [day(4), day(3)]
    assert await store.query(subject="A", user_id="alice") == []
    assert await store.query(user_id="alice", limit=0) == []


async def test_ten_facts_are_found_where_no_number_is_given() -> None:
    store = await store_of(*(fact(f"a likes o{number}", supersede=False) for number in range(12)))
    assert len(await store.query(user_id="alice")) == 10


async def test_a_query_sees_superseded_facts_unless_it_names_a_moment() -> None:
    store = await moved()
    about = {"subject": "alice", "user_id": "alice"}
    assert {each.object for each in await store.query(**about)} == {"acme", "initech"}
    tick = timedelta(microseconds=1)
    held = [
        [each.object for each in await store.query(**about, valid_at=at)]
        for at in (day(1) - tick, day(1), day(10) - tick, day(10))
    ]
    assert held == [[], ["acme"], ["acme"], ["initech"]]


async def test_users_and_those_without_one_are_apart() -> None:
    store = await store_of(*(fact("alice works_at acme", user_id=user) for user in ("alice", "bob", None)))
    for user in ("alice", "bob", None):
        assert [each.user_id for each in await store.query(user_id=user)] == [user]
        assert await store.count(user_id=user) == 1
    assert (await store.query(user_id="carol"), await store.count(user_id="carol")) == ([], 0)


async def test_a_deleted_fact_is_gone_and_what_it_ended_stays_ended() -> None:
    store = await moved()
    (initech,) = await store.query(subject="alice", user_id="alice", valid_at=day(20))
    assert (await store.get(initech.id)) == initech
    assert await store.delete(initech.id)
    assert not await store.delete(initech.id)
    assert await store.get(initech.id) is None
    assert (await windows(store))["acme"] == (day(1), day(10))
    assert await store.query(subject="alice", user_id="alice", valid_at=day(20)) == []


async def test_of_several_facts_all_are_stored_or_none() -> None:
    store = await store_of(fact("alice works_at acme"))
    (known,) = await store.query(user_id="alice")
    with pytest.raises(ValueError, match=known.id):
        await store.append_many([fact("alice works_at initech"), known])
    assert await store.query(user_id="alice") == [known]


async def test_a_store_may_be_closed_twice() -> None:
    store = InMemoryFactStore()
    await store.aclose()
    await store.aclose()
