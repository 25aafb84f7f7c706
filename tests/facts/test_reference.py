"""The library against a fact graph that is not ours, over facts and questions that are drawn.

Where the two part is said in ``docs/facts.md`` and tested in ``test_departures.py``; nothing of that is drawn here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import hypothesis
from hypothesis import given
from hypothesis import strategies as st
from loomflow import memory as theirs
from loomflow.memory import facts as their_facts

from engram import facts as ours
from engram.facts.names import node_name, predicate_name, words_of
from tests.facts.drawing import NAMES, USERS, Drawn, histories, instants, merges, moment, names, questions
from tests.fixtures.fuzzing import EXAMPLES, SEED, drawing

CASES = 32 * EXAMPLES
"""Histories for each test."""

ALL = 10**6

SPELLINGS = ("worksAt", "works-at", "works at", "HTTPServer", "isA2B", "größeÄnderung", "--x")

Shape = tuple[int, float]
"""Of a path: its length, and when the newest of its facts was learnt."""


def compared(cases: int = CASES) -> Callable[[Any], Any]:
    return lambda test: hypothesis.seed(SEED)(drawing(cases)(test))


@st.composite
def learnt(draw: st.DrawFn, facts: Sequence[Drawn]) -> list[dict[str, Any]]:
    """The fields of facts that were learnt at different moments, in an order that need not be that of their arrival."""
    days = draw(st.permutations(range(len(facts)))) if draw(st.booleans()) else range(len(facts))
    return [
        {**fact.fields, "id": str(UUID(int=place + 1)), "recorded_at": moment(day / 7)}
        for place, (fact, day) in enumerate(zip(facts, days, strict=True))
    ]


def stores(facts: Sequence[dict[str, Any]], *, batch: bool = False) -> tuple[Any, Any]:
    """Both, after the same facts came."""

    async def fill() -> tuple[Any, Any]:
        their_store, our_store = their_facts.InMemoryFactStore(), ours.InMemoryFactStore()
        if batch:
            await their_store.append_many([their_facts.Fact(**fields) for fields in facts])
            await our_store.append_many([ours.Fact(**fields) for fields in facts])
        else:
            for fields in facts:
                assert await their_store.append(their_facts.Fact(**fields)) == fields["id"]
                assert await our_store.append(ours.Fact(**fields)) == fields["id"]
        return their_store, our_store

    return asyncio.run(fill())


def graphs(facts: Sequence[dict[str, Any]], merged: Sequence[tuple[str, str]]) -> tuple[Any, Any]:
    their_graph = theirs.FactGraph.from_facts([their_facts.Fact(**fields) for fields in facts])
    our_graph = ours.FactGraph.from_facts([ours.Fact(**fields) for fields in facts])
    for pair in merged:
        assert their_graph.merge(*pair) == our_graph.merge(*pair)
    return their_graph, our_graph


def said(fact: Any) -> tuple[Any, ...]:
    shown = ("id", "user_id", "subject", "predicate", "object", "confidence", "valid_from", "valid_until")
    return (*(getattr(fact, name) for name in shown), fact.recorded_at, tuple(fact.sources))


def shapes(paths: Sequence[Any]) -> list[Shape]:
    return [(len(path.edges), max(fact.recorded_at.timestamp() for fact in path.facts)) for path in paths]


def walked(paths: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Paths in an order of their own."""
    return sorted((path.render(), path.nodes, path.directions, [fact.id for fact in path.facts]) for path in paths)


def same_paths(their_paths: Sequence[Any], our_paths: Sequence[Any], their_all: Sequence[Any], limit: int) -> None:
    """The order of ranks is the same, and which paths have them where there is room for all of them.

    Of paths that rank the same either may come first, and the other be left out.
    """
    assert shapes(our_paths) == shapes(their_paths)
    if len(their_all) <= limit:
        assert walked(our_paths) == walked(their_paths)
    else:
        full = walked(their_all)
        assert all(path in full for path in walked(our_paths))


@compared()
@given(st.data())
def test_a_store_ends_facts_and_finds_them_as_the_other_does(data: st.DataObject) -> None:
    facts = data.draw(learnt(data.draw(histories())))
    their_store, our_store = stores(facts, batch=data.draw(st.booleans()))
    chosen = data.draw(st.sampled_from(facts))
    asked = {
        "subject": data.draw(st.none() | st.just(chosen["subject"]) | names()),
        "predicate": data.draw(st.none() | st.just(chosen["predicate"]) | st.just("knows")),
        "object_": data.draw(st.none() | st.just(chosen["object"])),
        "valid_at": data.draw(instants),
        "limit": data.draw(st.sampled_from([0, 1, 3, ALL])),
    }

    async def compare() -> None:
        for user_id in USERS:
            for wanted in ({"limit": ALL}, {"limit": ALL, "valid_at": asked["valid_at"]}, asked):
                their_found = await their_store.query(**wanted, user_id=user_id)
                assert [said(fact) for fact in await our_store.query(**wanted, user_id=user_id)] == [
                    said(fact) for fact in their_found
                ], wanted

    asyncio.run(compare())


@compared()
@given(st.data())
def test_a_graph_is_walked_as_the_other_is(data: st.DataObject) -> None:
    drawn = data.draw(histories(least=7))
    facts, merged = data.draw(learnt(drawn)), data.draw(merges(drawn))
    their_graph, our_graph = graphs(facts, merged)
    assert our_graph.entities == their_graph.entities
    assert our_graph.aliases == their_graph.aliases

    for question in (data.draw(questions(drawn)), data.draw(questions(drawn))):
        assert our_graph.seed_entities(question) == their_graph.seed_entities(question)

    valid_at, name = data.draw(instants), data.draw(st.sampled_from(drawn)).subject
    for direction in ("out", "in", "both"):
        their_edges = their_graph.neighbors(name, direction=direction, valid_at=valid_at)
        our_edges = our_graph.neighbors(name, direction=direction, valid_at=valid_at)
        assert [(edge.render(), edge.fact.id) for edge in our_edges] == [
            (edge.render(), edge.fact.id) for edge in their_edges
        ]

    seeds = data.draw(st.lists(st.sampled_from([*sorted(our_graph.aliases), name, "nobody"]), min_size=1, max_size=3))
    hops, limit = data.draw(st.sampled_from([0, 1, 2, 3, 3, 4, 4])), data.draw(st.sampled_from([1, 4, ALL, ALL]))
    their_all = their_graph.traverse(seeds, hops=hops, valid_at=valid_at, limit=ALL)
    their_paths = their_graph.traverse(seeds, hops=hops, valid_at=valid_at, limit=limit)
    our_paths = our_graph.traverse(seeds, hops=hops, valid_at=valid_at, limit=limit)
    same_paths(their_paths, our_paths, their_all, limit)
    assert our_paths.truncated == (len(their_all) > limit)


@compared()
@given(st.data())
def test_a_question_is_answered_as_by_the_other(data: st.DataObject) -> None:
    drawn = data.draw(histories(least=7))
    their_store, our_store = stores(data.draw(learnt(drawn)))
    question = data.draw(questions(drawn))
    asked: dict[str, Any] = {"user_id": data.draw(st.sampled_from([None, None, None, "ann"]))}
    for name, values in {
        "hops": st.sampled_from([0, 1, 2, 3, 4, 4]),
        "valid_at": instants,
        "fetch_limit": st.sampled_from([1, 6, 2000]),
    }.items():
        if data.draw(st.booleans()):
            asked[name] = data.draw(values)
    limit = data.draw(st.sampled_from([None, 2, ALL]))

    async def compare() -> None:
        limited = asked if limit is None else {**asked, "limit": limit}
        their_all = await theirs.recall_graph(their_store, question, **asked, limit=ALL)
        their_paths = await theirs.recall_graph(their_store, question, **limited)
        our_paths = await ours.recall_graph(our_store, question, **limited)
        same_paths(their_paths, our_paths, their_all, limit or 10)

    asyncio.run(compare())


@compared()
@given(st.lists(names() | st.text(max_size=8), min_size=1, max_size=4), names() | st.text(max_size=8))
def test_names_and_words_are_those_of_the_other(words: list[str], question: str) -> None:
    their_graph = theirs.FactGraph.from_facts(
        [their_facts.Fact(subject=name, predicate="is", object="x") for name in words]
    )
    called = {node_name(name) for name in words} - {""}
    assert set(their_graph.entities) - {"x"} == called - {"x"}
    asked = words_of(question)
    found = {node_name(name) for name in words if asked & (words_of(name) | words_of(node_name(name)))}
    assert set(their_graph.seed_entities(question)) == found


@compared()
@given(st.sampled_from(SPELLINGS), st.text(st.sampled_from("aZéß9_- \t\u2003./東"), max_size=9) | st.text(max_size=6))
def test_predicates_are_spelt_as_the_other_spells_them(spelling: str, more: str) -> None:
    for text in (spelling, more, spelling + more, more + spelling):
        assert predicate_name(text) == their_facts.Fact(subject="a", predicate=text, object="b").predicate


def test_of_a_dense_graph_as_many_paths_are_looked_at() -> None:
    people = [f"person {number}" for number in range(14)]
    pairs = [(one, other) for one in people for other in people if one != other]
    facts = [
        {"id": str(UUID(int=place)), "subject": one, "predicate": "knows", "object": other, "recorded_at": moment(0)}
        for place, (one, other) in enumerate(pairs)
    ]
    their_graph, our_graph = graphs(facts, [])
    their_paths = their_graph.traverse(["person 1"], hops=4, limit=ALL)
    our_paths = our_graph.traverse(["person 1"], hops=4, limit=ALL)
    assert len(our_paths) == len(their_paths) == 10_000
    assert our_paths.truncated


def test_what_is_drawn_has_what_it_is_to_have() -> None:
    """Names that fold to one, and names that no word finds."""
    assert len({node_name(name) for name in NAMES}) < len(NAMES)
    assert any(not words_of(name) for name in NAMES)
