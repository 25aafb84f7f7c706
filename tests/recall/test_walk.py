"""The pure part of a recall: nothing depends on the order in which a database gives its rows."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from engram.recall.ranking import Leg, rank
from engram.recall.walk import Walk, WalkEdge

NODES = [UUID(int=number) for number in range(1, 5)]

# Few values, so that many paths are worth the same.
shares = st.sampled_from([0.25, 0.5, 1.0])
edges = st.lists(
    st.builds(
        WalkEdge,
        source=st.sampled_from(NODES),
        target=st.sampled_from(NODES),
        relation_type=st.sampled_from(["causal", "supports"]),
        direction=st.sampled_from(["out", "in"]),
        weight=shares,
        multiplier=st.just(0.5),
    ).filter(lambda edge: edge.source != edge.target),
    max_size=20,
    unique_by=lambda edge: (edge.source, edge.target, edge.relation_type, edge.direction),
)
anchors = st.dictionaries(st.sampled_from(NODES), shares, max_size=4)
legs = st.dictionaries(
    st.sampled_from(NODES), st.builds(Leg, vector=shares, lexical=st.sampled_from([0.0, 0.5]), terms=st.just(()))
)
hops = st.integers(0, 5)


@given(anchors=anchors, edges=edges, max_hops=hops, seed=st.integers())
@settings(max_examples=300)
def test_the_order_of_edges_and_anchors_makes_no_difference(
    anchors: dict[UUID, float], edges: list[WalkEdge], max_hops: int, seed: int
) -> None:
    chance = random.Random(seed)
    shuffled = chance.sample(edges, len(edges))
    turned = dict(chance.sample(sorted(anchors.items()), len(anchors)))
    walk = Walk(anchors, edges, max_hops=max_hops, hop_penalty=0.5)
    other = Walk(turned, shuffled, max_hops=max_hops, hop_penalty=0.5)
    assert walk.reached() == other.reached()
    assert [walk.paths(node, 9) for node in NODES] == [other.paths(node, 9) for node in NODES]


@given(anchors=anchors, edges=edges, max_hops=hops, penalty=st.sampled_from([0.0, 0.5]))
def test_paths_are_real_simple_and_worth_what_they_say(
    anchors: dict[UUID, float], edges: list[WalkEdge], max_hops: int, penalty: float
) -> None:
    walk = Walk(anchors, edges, max_hops=max_hops, hop_penalty=penalty)
    reached = walk.reached()
    for node in NODES:
        paths = walk.paths(node, 9)
        assert max((path.score for path in paths), default=0.0) == reached.get(node, 0.0)
        assert [path.score for path in paths] == sorted((path.score for path in paths), reverse=True)
        assert len({path.anchor for path in paths}) == len(paths)
        for path in paths:
            visited = [path.anchor, *(edge.target for edge in path.edges)]
            assert len(set(visited)) == len(visited) <= max_hops + 1
            assert visited[-1] == node
            assert all(before == edge.source for before, edge in zip(visited, path.edges, strict=False))
            assert all(edge in edges for edge in path.edges)
            worth = anchors[path.anchor] * math.prod((1 - penalty) * e.weight * e.multiplier for e in path.edges)
            assert math.isclose(path.score, worth)


@given(legs=legs, anchors=anchors, edges=edges, weight=st.sampled_from([0.0, 0.4, 1.0]), seed=st.integers())
def test_equals_stand_in_the_order_of_their_ids(
    legs: dict[UUID, Leg], anchors: dict[UUID, float], edges: list[WalkEdge], weight: float, seed: int
) -> None:
    walk = Walk(anchors, edges, max_hops=2, hop_penalty=0.5)
    shuffled = dict(random.Random(seed).sample(list(legs.items()), len(legs)))
    ranked = rank(shuffled, walk, weight)
    assert ranked == rank(legs, walk, weight)
    for before, after in pairwise(ranked):
        assert (-before.parts.score, before.id) < (-after.parts.score, after.id)
