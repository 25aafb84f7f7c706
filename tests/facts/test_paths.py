"""Edges and paths: what they hold, and how they are read."""

from __future__ import annotations

import dataclasses

import pytest

from engram.facts import Edge, Fact, Path, recall_graph
from tests.facts.stories import employed, fact, graph_of


def edge(said: str) -> Edge:
    subject, predicate, object_ = said.split(" ")
    return Edge(subject, predicate, object_, fact(said))


WORKS, OPERATES = edge("alice works_at acme"), edge("acme operates_in tokyo")


def test_an_edge_is_read_as_one_hop() -> None:
    assert WORKS.render() == "alice —works_at→ acme"


def test_a_path_is_read_as_a_chain() -> None:
    assert Path((WORKS, OPERATES), (True, True)).render() == "alice —works_at→ acme —operates_in→ tokyo"
    assert Path((WORKS, OPERATES)).directions == (True, True)


def test_the_arrow_of_a_hop_walked_backward_points_back() -> None:
    backward = Path((OPERATES, WORKS), (False, False))
    assert backward.render() == "tokyo ←operates_in— acme ←works_at— alice"
    lives = edge("bob lives_in tokyo")
    assert Path((OPERATES, lives), (True, False)).render() == "acme —operates_in→ tokyo ←lives_in— bob"


def test_nodes_come_in_the_order_of_the_walk_one_more_than_edges() -> None:
    assert Path((WORKS, OPERATES)).nodes == ("alice", "acme", "tokyo")
    assert Path((OPERATES, WORKS), (False, False)).nodes == ("tokyo", "acme", "alice")


async def test_facts_are_those_that_were_stored_spelt_as_they_were() -> None:
    store = await employed()
    (path,) = [path for path in await recall_graph(store, "alice", user_id="alice") if len(path.edges) == 2]
    assert [found.id for found in path.facts] == [found.id for found in reversed(await store.query(user_id="alice"))]
    assert all(isinstance(found, Fact) for found in path.facts)
    shouted = Fact(subject=" ALICE  Smith", predicate="worksAt", object="Acme")
    assert Path((Edge("alice smith", "works_at", "acme", shouted),)).facts[0].subject == " ALICE  Smith"


def test_edges_and_paths_cannot_be_changed_and_are_values() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        WORKS.subject = "bob"  # type: ignore[misc]
    path = Path((WORKS,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.edges = ()  # type: ignore[misc]
    assert path == Path((WORKS,), (True,)) != Path((WORKS,), (False,))


def test_as_many_directions_as_edges_are_wanted() -> None:
    with pytest.raises(ValueError, match="direction"):
        Path((WORKS,), (True, False))


def test_a_path_without_edges_is_nothing() -> None:
    assert (Path(()).render(), Path(()).nodes, Path(()).facts) == ("", (), ())


def test_an_edge_keeps_the_names_of_its_fact_where_they_were_merged() -> None:
    graph = graph_of("robert works_at acme", "acme operates_in tokyo")
    graph.merge("bob", "robert")
    long = graph.traverse(["bob"])[-1]
    assert long.render() == "robert —works_at→ acme —operates_in→ tokyo"
    assert long.nodes == ("robert", "acme", "tokyo")
