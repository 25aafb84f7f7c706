"""One question, and the chains of facts that answer it: every parameter of ``recall_graph``, and its defaults."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from engram.facts import Fact, FactStore, InMemoryFactStore, Path, recall_graph
from tests.facts.stories import day, employed, fact, moved, rendered, store_of

ACME = ["alice —works_at→ acme", "alice —works_at→ acme —operates_in→ tokyo"]
INITECH = ["alice —works_at→ initech", "alice —works_at→ initech —operates_in→ austin"]


async def test_an_answer_that_no_single_fact_holds_is_found_over_two() -> None:
    paths = await recall_graph(await employed(), "where does alice's employer operate?", user_id="alice")
    assert rendered(paths) == ACME
    assert not paths.truncated


def test_the_parameters_have_the_defaults_that_are_told() -> None:
    parameters = inspect.signature(recall_graph).parameters
    assert list(parameters) == ["fact_store", "query", "user_id", "hops", "valid_at", "limit", "fetch_limit"]
    defaults = {name: each.default for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert defaults == {"user_id": None, "hops": 2, "valid_at": None, "limit": 10, "fetch_limit": 2000}


class OnlyQueries:
    """A backend that has ``query``, and what else the protocol asks, and no more."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self.facts = facts
        self.asked: list[dict[str, object]] = []

    async def query(self, **asked: object) -> Sequence[Fact]:
        self.asked.append(asked)
        return self.facts

    append = append_many = get = delete = count = aclose = query


async def test_any_store_will_do() -> None:
    store = OnlyQueries([fact("alice works_at acme"), fact("acme operates_in tokyo")])
    assert isinstance(store, FactStore)
    assert isinstance(InMemoryFactStore(), FactStore)
    assert rendered(await recall_graph(store, "alice", user_id="alice")) == ACME
    assert [asked["user_id"] for asked in store.asked] == ["alice"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ALICE", True),
        ("what of Alice?", True),
        ("alice's", True),
        ("alic", False),
        ("al ice", False),
        ("", False),
        ("where is nobody", False),
    ],
)
async def test_paths_begin_where_a_name_has_a_word_of_the_query(query: str, found: bool) -> None:
    assert bool(await recall_graph(await employed(), query, user_id="alice")) == found


async def test_words_of_two_letters_find_nothing_and_of_three_do() -> None:
    store = await store_of(fact("al knows bob"))
    assert await recall_graph(store, "al", user_id="alice", hops=1) == []
    assert rendered(await recall_graph(store, "bob", user_id="alice", hops=1)) == ["bob ←knows— al"]


async def test_another_spelling_finds_a_name_too() -> None:
    store = await store_of(Fact(subject="STRASSE 5", predicate="leads to", object="Köln"))
    assert rendered(await recall_graph(store, "straße")) == ["strasse 5 —leads_to→ köln"]


async def test_no_path_leads_from_one_user_to_another() -> None:
    store = await store_of(
        fact("alice works_at acme"),
        fact("acme operates_in tokyo", user_id="bob"),
        fact("acme is_in limbo", user_id=None),
    )
    assert sorted(rendered(await recall_graph(store, "alice acme", user_id="alice", hops=4))) == [
        "acme ←works_at— alice",
        "alice —works_at→ acme",
    ]
    assert rendered(await recall_graph(store, "alice acme", user_id="bob", hops=4)) == ["acme —operates_in→ tokyo"]
    # No user is a partition of its own, and not all of them.
    assert rendered(await recall_graph(store, "alice acme", hops=4)) == ["acme —is_in→ limbo"]
    assert await recall_graph(store, "alice acme", user_id="carol", hops=4) == []


async def test_paths_have_as_many_hops_as_are_allowed() -> None:
    store = await store_of(*(fact(f"node{at} next node{at + 1}") for at in range(6)))
    for hops in range(5):
        paths = await recall_graph(store, "node0", user_id="alice", hops=hops)
        assert [len(path.edges) for path in paths] == [*range(1, hops + 1)]
    assert [len(path.edges) for path in await recall_graph(store, "node0", user_id="alice")] == [1, 2]
    assert await recall_graph(store, "node0", user_id="alice", hops=-1) == []


async def test_a_walk_goes_both_ways_from_where_it_begins() -> None:
    paths = await recall_graph(await employed(), "acme", user_id="alice")
    assert sorted(rendered(paths)) == ["acme —operates_in→ tokyo", "acme ←works_at— alice"]


async def test_no_more_paths_come_than_are_wanted_and_that_is_said() -> None:
    store = await store_of(*(fact(f"hub knows node{at}", supersede=False) for at in range(15)))
    for limit, truncated in ((14, True), (15, False), (16, False)):
        paths = await recall_graph(store, "hub", user_id="alice", hops=1, limit=limit)
        assert (len(paths), paths.truncated) == (min(limit, 15), truncated)
    assert len(await recall_graph(store, "hub", user_id="alice", hops=1)) == 10
    assert await recall_graph(store, "hub", user_id="alice", limit=0) == []


async def test_no_more_facts_are_read_than_are_wanted_the_latest_and_that_is_said() -> None:
    store = await store_of(
        fact("alice works_at acme", recorded_at=day(1)), fact("acme operates_in tokyo", recorded_at=day(2))
    )
    both = await recall_graph(store, "alice acme", user_id="alice", hops=1, fetch_limit=2)
    assert (len(both), both.truncated) == (3, False)
    latest = await recall_graph(store, "alice acme", user_id="alice", hops=1, fetch_limit=1)
    assert (rendered(latest), latest.truncated) == (["acme —operates_in→ tokyo"], True)


async def test_of_a_superseded_fact_no_path_is_made() -> None:
    assert rendered(await recall_graph(await moved(), "alice employer", user_id="alice")) == INITECH


async def test_a_moment_brings_back_what_held_then_and_nothing_that_began_later() -> None:
    at = datetime(2024, 1, 5, tzinfo=UTC)
    assert rendered(await recall_graph(await moved(), "alice employer", user_id="alice", valid_at=at)) == ACME


async def test_a_window_has_its_first_moment_and_not_its_last() -> None:
    store, tick = await moved(), timedelta(microseconds=1)

    async def employer(at: datetime) -> list[str]:
        return rendered(await recall_graph(store, "alice", user_id="alice", valid_at=at, hops=1))

    assert await employer(day(1) - tick) == []
    assert await employer(day(1)) == await employer(day(10) - tick) == ACME[:1]
    assert await employer(day(10)) == INITECH[:1]
    # Without an offset it is UTC.
    assert await employer(day(10).replace(tzinfo=None)) == INITECH[:1]


async def test_without_a_moment_what_has_not_ended_is_walked_begun_or_not() -> None:
    now = datetime.now(UTC)
    store = await store_of(
        fact("alice works_at acme", valid_until=now + timedelta(days=1)),
        fact("alice lives_in oslo", valid_until=now - timedelta(days=1)),
        fact("alice moves_to rome", valid_from=now + timedelta(days=1)),
    )
    paths = await recall_graph(store, "alice", user_id="alice", hops=1)
    assert sorted(rendered(paths)) == ["alice —moves_to→ rome", "alice —works_at→ acme"]
    then = await recall_graph(store, "alice", user_id="alice", hops=1, valid_at=now)
    assert rendered(then) == ["alice —works_at→ acme"]


async def test_the_shorter_path_comes_first_then_the_one_that_was_learnt_last() -> None:
    store = await store_of(
        fact("alice knows carol", recorded_at=day(1)),
        fact("alice met dave", recorded_at=day(3)),
        fact("carol lives_in tokyo", recorded_at=day(9)),
        fact("dave lives_in osaka", recorded_at=day(2)),
    )
    paths = await recall_graph(store, "alice", user_id="alice")
    assert rendered(paths) == [
        "alice —met→ dave",
        "alice —knows→ carol",
        # Its newest fact was learnt on the ninth day, that of the other on the third.
        "alice —knows→ carol —lives_in→ tokyo",
        "alice —met→ dave —lives_in→ osaka",
    ]
    assert all(isinstance(path, Path) for path in paths)
