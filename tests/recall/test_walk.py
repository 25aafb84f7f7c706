"""The pure part of a recall: nothing depends on the order in which a database gives its rows."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.recall.ranking import Legs, Ranked, Ranking
from engram.recall.walk import Edges, Namings, Walk, WalkEdge


class Naming(NamedTuple):
    entity_id: UUID
    memory_id: UUID
    weight: float


NODES = [UUID(int=number) for number in range(1, 5)]
NAMES = [UUID(int=number) for number in range(11, 14)]
MULTIPLIER = 0.75

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
        entity_id=st.none(),
    ).filter(lambda edge: edge.source != edge.target),
    max_size=20,
    unique_by=lambda edge: (edge.source, edge.target, edge.relation_type, edge.direction),
)
namings = st.lists(
    st.builds(
        Naming,
        entity_id=st.sampled_from(NAMES),
        memory_id=st.sampled_from(NODES),
        weight=st.sampled_from([0.0, 0.5, 1.0]),
    ),
    max_size=8,
    unique_by=lambda naming: (naming.entity_id, naming.memory_id),
)
anchors = st.dictionaries(st.sampled_from(NODES), shares, max_size=4)
legs = st.dictionaries(st.sampled_from(NODES), st.tuples(shares, st.sampled_from([0.0, 0.5])))
hops = st.integers(0, 5)


def walked(
    anchors: dict[UUID, float], edges: list[WalkEdge], namings: list[Naming], max_hops: int = 2, penalty: float = 0.5
) -> Walk:
    return Walk(
        anchors,
        Edges(*list(zip(*(edge[:6] for edge in edges), strict=True)) or ()),
        Namings(*list(zip(*namings, strict=True)) or ()),
        max_hops=max_hops,
        hop_penalty=penalty,
        entity_multiplier=MULTIPLIER,
    )


def spelt_out(namings: list[Naming]) -> list[WalkEdge]:
    """Every link through an entity by itself; of two between the same memories the stronger, as it is listed."""
    return [
        WalkEdge(source.memory_id, to.memory_id, "entity_link", "both", to.weight, MULTIPLIER, to.entity_id)
        for source in namings
        for to in namings
        if source.entity_id == to.entity_id and source.memory_id != to.memory_id and to.weight
    ]


@given(anchors=anchors, edges=edges, namings=namings, max_hops=hops, seed=st.integers())
@settings(max_examples=300)
def test_the_order_of_edges_and_anchors_makes_no_difference(
    anchors: dict[UUID, float], edges: list[WalkEdge], namings: list[Naming], max_hops: int, seed: int
) -> None:
    chance = random.Random(seed)
    turned = dict(chance.sample(sorted(anchors.items()), len(anchors)))
    walk = walked(anchors, edges, namings, max_hops)
    other = walked(turned, chance.sample(edges, len(edges)), chance.sample(namings, len(namings)), max_hops)
    assert walk.reached() == other.reached()
    assert [walk.paths(node, 9) for node in NODES] == [other.paths(node, 9) for node in NODES]


@given(anchors=anchors, edges=edges, namings=namings, max_hops=hops)
@settings(max_examples=300)
def test_a_hop_through_an_entity_is_worth_what_the_links_are(
    anchors: dict[UUID, float], edges: list[WalkEdge], namings: list[Naming], max_hops: int
) -> None:
    short = walked(anchors, edges, namings, max_hops).reached()
    long = walked(anchors, [*edges, *spelt_out(namings)], [], max_hops).reached()
    assert short == pytest.approx(long)


@given(anchors=anchors, edges=edges, namings=namings, max_hops=hops, penalty=st.sampled_from([0.0, 0.5]))
@settings(max_examples=300)
def test_paths_are_real_simple_and_worth_what_they_say(
    anchors: dict[UUID, float], edges: list[WalkEdge], namings: list[Naming], max_hops: int, penalty: float
) -> None:
    walk = walked(anchors, edges, namings, max_hops, penalty)
    known = [*edges, *spelt_out(namings)]
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
            assert all(edge in known for edge in path.edges)
            worth = anchors[path.anchor] * math.prod((1 - penalty) * e.weight * e.multiplier for e in path.edges)
            assert math.isclose(path.score, worth)


@given(legs=legs, anchors=anchors, edges=edges, weight=st.sampled_from([0.0, 0.4, 1.0]), seed=st.integers())
def test_equals_stand_in_the_order_of_their_ids(
    legs: dict[UUID, tuple[float, float]],
    anchors: dict[UUID, float],
    edges: list[WalkEdge],
    weight: float,
    seed: int,
) -> None:
    walk = walked(anchors, edges, [])

    def ranked(rows: list[tuple[UUID, tuple[float, float]]]) -> list[Ranked]:
        vector, lexical = (np.array([row[1][leg] for row in rows], dtype=np.float64) for leg in (0, 1))
        return Ranking(Legs.of([row[0] for row in rows], vector, lexical, 1.0, {}), walk, weight).best(9, min_score=0)

    rows = list(legs.items())
    best = ranked(rows)
    assert best == ranked(random.Random(seed).sample(rows, len(rows)))
    assert len(best) == len(legs)
    for before, after in pairwise(best):
        assert (-before.parts.score, before.id) < (-after.parts.score, after.id)
