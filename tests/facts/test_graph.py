"""The graph itself: nodes and their spellings, merges, neighbours, seeds, walks and their bounds."""

from __future__ import annotations

import inspect
import random

import pytest

from engram.facts import Fact, FactGraph
from tests.facts.stories import day, fact, graph_of, moved, rendered


def test_spellings_that_differ_in_case_and_spaces_are_one_node_and_all_kept() -> None:
    facts = [
        Fact(subject=" Alice Smith ", predicate="works_at", object="acme"),
        Fact(subject="alice smith", predicate="lives_in", object="oslo"),
        Fact(subject="ALICE\u2003  SMITH", predicate="knows", object="bob"),
    ]
    graph = FactGraph.from_facts(facts)
    assert graph.entities == {"alice smith", "acme", "oslo", "bob"}
    assert graph.aliases["alice smith"] == {" Alice Smith ", "alice smith", "ALICE\u2003  SMITH"}
    assert len(graph.neighbors("Alice  Smith")) == 3


def test_nothing_is_matched_fuzzily() -> None:
    graph = graph_of("bob works_at acme", "bobby works_at acme", "bo-b works_at acme", "bób works_at acme")
    assert graph.entities == {"bob", "bobby", "bo-b", "bób", "acme"}


def test_a_merge_says_that_two_names_are_one() -> None:
    graph = graph_of("bob knows carol", "Robert works_at acme", "acme operates_in tokyo")
    assert "acme" not in {path.nodes[-1] for path in graph.traverse(["bob"], hops=2)}
    assert graph.merge("bob", "Robert") == "bob"
    # What was said stays said: Robert works there.
    assert "robert —works_at→ acme —operates_in→ tokyo" in rendered(graph.traverse(["bob"], hops=2))
    assert graph.traverse(["Robert"], hops=2) == graph.traverse(["bob"], hops=2)
    assert graph.entities == {"bob", "carol", "acme", "tokyo"}
    assert set(graph.aliases) == {"bob", "carol", "robert", "acme", "tokyo"}


def test_names_can_be_merged_before_anything_is_known_of_them() -> None:
    graph = FactGraph()
    assert graph.merge(" Bob ", "ROBERT") == "bob"
    assert graph.entities == set()
    assert graph.add_fact(fact("robert works_at acme")) is not None
    assert rendered(graph.traverse(["bob"], hops=1)) == ["robert —works_at→ acme"]


def test_merges_go_on_from_each_other_under_the_name_of_the_first() -> None:
    graph = graph_of("rob works_at acme")
    assert graph.merge("robert", "rob") == "robert"
    assert graph.merge("bob", "rob") == "bob"
    assert graph.merge("rob", "bobby") == "bob"
    assert graph.merge("bob", "robert") == "bob"
    assert [rendered(graph.traverse([name], hops=1)) for name in ("bob", "bobby", "robert", "rob")] == [
        ["rob —works_at→ acme"]
    ] * 4


@pytest.mark.parametrize("pair", [("", "bob"), ("bob", " \t"), ("", "")])
def test_an_empty_name_is_not_merged(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="empty"):
        graph_of("bob knows carol").merge(*pair)


def test_neighbours_are_asked_for_by_direction() -> None:
    graph = graph_of("alice works_at acme", "acme operates_in tokyo", "bob knows carol")
    rendered_edges = {
        direction: [edge.render() for edge in graph.neighbors("Acme", direction=direction)]
        for direction in ("in", "out", "both")
    }
    assert rendered_edges == {
        "in": ["alice —works_at→ acme"],
        "out": ["acme —operates_in→ tokyo"],
        "both": ["acme —operates_in→ tokyo", "alice —works_at→ acme"],
    }
    assert graph.neighbors("acme") == graph.neighbors("acme", direction="both")
    assert graph.neighbors("nobody") == []
    with pytest.raises(ValueError, match="direction"):
        graph.neighbors("acme", direction="up")  # type: ignore[arg-type]


async def test_neighbours_and_walks_see_what_holds() -> None:
    graph = FactGraph.from_facts(await (await moved()).query(user_id="alice", limit=2000))
    assert [edge.object for edge in graph.neighbors("alice")] == ["initech"]
    assert [edge.object for edge in graph.neighbors("alice", valid_at=day(5))] == ["acme"]
    assert [edge.object for edge in graph.neighbors("alice", valid_at=day(10))] == ["initech"]
    assert rendered(graph.traverse(["alice"], hops=1)) == ["alice —works_at→ initech"]
    assert rendered(graph.traverse(["alice"], hops=1, valid_at=day(5))) == ["alice —works_at→ acme"]


def test_seeds_are_nodes_that_share_a_word_with_the_query_under_any_spelling() -> None:
    facts = [
        Fact(subject="Alice Smith", predicate="is", object="x"),
        Fact(subject="smith & sons", predicate="is", object="x"),
        Fact(subject="東京都", predicate="is", object="x"),
    ]
    graph = FactGraph.from_facts(facts)
    assert graph.seed_entities("alice employer") == ["alice smith"]
    assert graph.seed_entities("Does SMITH work?") == ["alice smith", "smith & sons"]
    assert graph.seed_entities("東京都") == ["東京都"]
    assert graph.seed_entities("東京") == graph.seed_entities("x") == graph.seed_entities("ali") == []


def test_a_merged_name_is_a_seed_under_the_name_it_goes_by() -> None:
    graph = graph_of("robert works_at acme")
    graph.merge("bob", "robert")
    assert graph.seed_entities("robert") == ["bob"]
    # No fact knows that name.
    assert graph.seed_entities("bob") == []


def test_a_walk_has_the_defaults_that_are_told() -> None:
    defaults = {name: each.default for name, each in inspect.signature(FactGraph.traverse).parameters.items()}
    assert (defaults["hops"], defaults["valid_at"], defaults["limit"]) == (2, None, 50)


def test_no_node_comes_twice_on_a_path() -> None:
    graph = graph_of("one next two", "two next three", "three next one", "one likes one")
    assert sorted(rendered(graph.traverse(["one"], hops=4))) == [
        "one —next→ two",
        "one —next→ two —next→ three",
        "one ←next— three",
        "one ←next— three ←next— two",
    ]


def test_a_fact_between_merged_names_is_not_walked() -> None:
    graph = graph_of("bob called robert", "robert works_at acme")
    graph.merge("bob", "robert")
    assert rendered(graph.traverse(["bob"])) == ["robert —works_at→ acme"]
    assert [edge.render() for edge in graph.neighbors("bob", direction="in")] == ["bob —called→ robert"]


def test_facts_side_by_side_are_paths_side_by_side() -> None:
    graph = graph_of("bob works_at acme", "bob owns acme", "bob works_at acme")
    assert sorted(rendered(graph.traverse(["bob"]))) == ["bob —owns→ acme", *["bob —works_at→ acme"] * 2]


def test_a_path_and_its_reverse_are_both_given_where_both_ends_are_seeds() -> None:
    assert sorted(rendered(graph_of("bob works_at acme").traverse(["bob", "acme", "bob"]))) == [
        "acme ←works_at— bob",
        "bob —works_at→ acme",
    ]


@pytest.mark.parametrize("asked", [{"hops": 0}, {"hops": -1}, {"limit": 0}, {"limit": -1}])
def test_a_walk_of_no_hops_or_no_paths_gives_none(asked: dict[str, int]) -> None:
    assert graph_of("bob works_at acme").traverse(["bob"], **asked) == []


def test_seeds_that_are_not_there_lead_nowhere() -> None:
    graph = graph_of("bob works_at acme")
    assert graph.traverse([]) == graph.traverse(["", " ", "nobody"]) == []


def test_a_dense_graph_is_not_walked_for_ever() -> None:
    people = [f"person{number}" for number in range(30)]
    graph = graph_of(*(f"{one} knows {other}" for one in people for other in people if one < other))
    everything = graph.traverse(people, hops=4, limit=100_000)
    assert (len(everything), everything.truncated) == (10_000, True)
    # The shorter are all there before the longer.
    lengths = [len(path.edges) for path in everything]
    assert lengths == sorted(lengths)
    assert lengths.count(1) == 2 * 435


def test_the_order_does_not_depend_on_the_order_of_the_facts() -> None:
    said = [f"n{one} to n{other}" for one in range(6) for other in range(6) if one != other]
    facts = [fact(text, recorded_at=day(1 + place % 4)) for place, text in enumerate(said)]
    asked = FactGraph.from_facts(facts)
    asked.merge("n1", "n2")
    expected = [[found.id for found in path.facts] for path in asked.traverse(["n0", "n1"], hops=3, limit=200)]
    for seed in range(3):
        random.Random(seed).shuffle(facts)
        graph = FactGraph.from_facts(facts)
        graph.merge("n1", "n2")
        paths = graph.traverse(["n0", "n1"], hops=3, limit=200)
        assert [[found.id for found in path.facts] for path in paths] == expected
