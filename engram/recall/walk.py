"""The walk from a query's anchors over the edges that a store gave. Pure.

A path's score is its anchor's score times, for each hop, ``(1 - hop_penalty) * weight * multiplier``. All of these are
at most 1, so no walk beats the simple path in it: a round trip never pays, and of equals the one of fewer hops counts.
A walk that comes back to its own anchor is cut there: a memory never supports itself.

Memories that name an entity are all linked to each other. Those links are not spelt out: a hop goes from the memories
to the entity, and from there to the memories, at the weight of the latter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Places = NDArray[np.intp]


class WalkEdge(NamedTuple):
    """One direction of an edge: ``weight`` and ``multiplier`` as walked from source to target."""

    source: UUID
    target: UUID
    relation_type: str
    direction: str
    weight: float
    multiplier: float
    entity_id: UUID | None = None


class Edges(NamedTuple):
    """Columns over edges, in any order; see ``WalkEdge``."""

    sources: Sequence[UUID] = ()
    targets: Sequence[UUID] = ()
    relation_types: Sequence[str] = ()
    directions: Sequence[str] = ()
    weights: Sequence[float] = ()
    multipliers: Sequence[float] = ()


class Namings(NamedTuple):
    """Columns over pairs of an entity and a memory that names it, each once, in any order. A walk through the entity
    comes to the memory with its weight, 0 for not at all, and leaves it for all others."""

    entities: Sequence[UUID] = ()
    memories: Sequence[UUID] = ()
    weights: Sequence[float] = ()


class Path(NamedTuple):
    """The edges from an anchor to a memory, in walking order."""

    score: float
    anchor: UUID
    anchor_score: float
    edges: tuple[WalkEdge, ...]


class Walk:
    """Best paths to every memory in reach of ``anchors`` (id to score in [0, 1]) within ``max_hops`` hops.

    ``levels[h][a, n]`` is the best score of a walk of exactly ``h`` hops from anchor ``a`` to node ``n``. Cost is
    anchors times edges times hops, in numpy. Equal scores are settled by fewer hops, then by the lesser ids, so the
    order in which edges came does not matter.
    """

    def __init__(
        self,
        anchors: Mapping[UUID, float],
        edges: Edges,
        namings: Namings,
        *,
        max_hops: int,
        hop_penalty: float,
        entity_multiplier: float,
    ) -> None:
        self._anchors = sorted(anchors)
        self._anchor_scores = anchors
        self._entity_multiplier = entity_multiplier
        self._nodes = sorted({*anchors, *edges.sources, *edges.targets, *namings.memories})
        self._places = {node: place for place, node in enumerate(self._nodes)}
        self._hops = _Hops(edges, self._places, 1 - hop_penalty)
        self._names = _Names(namings, self._places, entity_multiplier * (1 - hop_penalty))
        self._levels = self._walked(max_hops if edges.sources or namings.memories else 0)
        self._best = np.maximum.reduce(self._levels[1:]) if len(self._levels) > 1 else None

    def _walked(self, max_hops: int) -> list[Scores]:
        rows = np.arange(len(self._anchors))
        own = np.array([self._places[anchor] for anchor in self._anchors], dtype=np.intp)
        start = np.zeros((len(self._anchors), len(self._nodes)))
        start[rows, own] = [self._anchor_scores[anchor] for anchor in self._anchors]
        levels = [start]
        for _ in range(max_hops):
            level = np.zeros_like(start)
            self._hops.step(levels[-1], level)
            self._names.step(levels[-1], level)
            level[rows, own] = 0.0
            levels.append(level)
        return levels

    def reached(self) -> dict[UUID, float]:
        """Score of the best path to every memory that one leads to."""
        if self._best is None or not self._anchors:
            return {}
        best = self._best.max(axis=0)
        return {self._nodes[place]: float(best[place]) for place in np.flatnonzero(best)}

    def paths(self, node: UUID, limit: int) -> list[Path]:
        """The best paths to a memory from different anchors, best first."""
        place = self._places.get(node)
        if place is None or self._best is None:
            return []
        best = self._best[:, place]
        # The first hop count that gives an anchor's best; of equals the fewer.
        hops = np.argmax([level[:, place] for level in self._levels[1:]], axis=0)
        order = np.lexsort((np.arange(len(best)), hops, -best))[:limit]
        return [self._path(int(anchor), place, int(hops[anchor]) + 1) for anchor in order if best[anchor] > 0]

    def _path(self, anchor: int, place: int, hops: int) -> Path:
        score = float(self._levels[hops][anchor, place])
        edges: list[WalkEdge] = []
        for hop in range(hops, 0, -1):
            edge = self._last_edge(self._levels[hop - 1][anchor], place)
            edges.append(edge)
            place = self._places[edge.source]
        id = self._anchors[anchor]
        return Path(score, id, self._anchor_scores[id], tuple(reversed(edges)))

    def _last_edge(self, before: Scores, place: int) -> WalkEdge:
        """The edge by which the best walk comes to a node, from the scores of one hop less."""
        direct, edge = self._hops.last_step(before, place)
        named, source, entity, weight = self._names.last_step(before, place)
        if edge is not None and direct >= named:
            return edge
        assert entity is not None  # the walk came here somehow
        return WalkEdge(
            self._nodes[source],
            self._nodes[place],
            "entity_link",
            "both",
            weight,
            self._entity_multiplier,
            entity,
        )


class _Hops:
    """Hops over edges. ``keep`` is what each keeps beside the edge's weight and multiplier."""

    def __init__(self, edges: Edges, places: Mapping[UUID, int], keep: float) -> None:
        sources, targets = _placed(edges.sources, places), _placed(edges.targets, places)
        factors = np.array(edges.weights, dtype=np.float64) * np.array(edges.multipliers, dtype=np.float64) * keep
        # Sorted by target, one segment each; what stands first of equals is what a path is said to take.
        self._order = np.lexsort((_ranks(edges.directions), _ranks(edges.relation_types), sources, targets))
        self._edges = edges
        self._sources, self._targets = sources[self._order], targets[self._order]
        self._factors = factors[self._order]
        self._reached, self._segments = _segments(self._targets)

    def step(self, before: Scores, after: Scores) -> None:
        """Raise ``after``, shape (anchors, nodes), to what one hop from ``before`` gives."""
        if len(self._segments):
            steps = before[:, self._sources] * self._factors
            after[:, self._reached] = np.maximum.reduceat(steps, self._segments, axis=1)

    def last_step(self, before: Scores, place: int) -> tuple[float, WalkEdge | None]:
        """The best score of a hop to a node, and the edge that gives it."""
        start, end = np.searchsorted(self._targets, [place, place + 1])
        if start == end:
            return 0.0, None
        steps = before[self._sources[start:end]] * self._factors[start:end]
        best = int(steps.argmax())
        at = self._order[start + best]
        return float(steps[best]), WalkEdge(*(column[at] for column in self._edges))


class _Names:
    """Hops through entities. ``keep`` is what each keeps beside the weight of the memory that it comes to."""

    def __init__(self, namings: Namings, places: Mapping[UUID, int], keep: float) -> None:
        memories, entities = _placed(namings.memories, places), _ranks(namings.entities)
        weights = np.array(namings.weights, dtype=np.float64)
        order = np.lexsort((memories, entities))
        self._ids = sorted(set(namings.entities))
        self._entities, self._memories = entities[order], memories[order]
        self._weights = weights[order]
        self._factors = self._weights * keep
        self._starts = np.searchsorted(self._entities, np.arange(len(self._ids) + 1))
        # The same by memory, which is what a hop comes to; of entities the first.
        self._by_memory = np.lexsort((self._entities, self._memories))
        self._targets = self._memories[self._by_memory]
        self._reached, self._segments = _segments(self._targets)

    def step(self, before: Scores, after: Scores) -> None:
        """Raise ``after``, shape (anchors, nodes), to what one hop from ``before`` gives."""
        if not self._ids:
            return
        through = np.maximum.reduceat(before[:, self._memories], self._starts[:-1], axis=1)
        steps = through[:, self._entities[self._by_memory]] * self._factors[self._by_memory]
        best = np.maximum.reduceat(steps, self._segments, axis=1)
        after[:, self._reached] = np.maximum(after[:, self._reached], best)

    def last_step(self, before: Scores, place: int) -> tuple[float, int, UUID | None, float]:
        """The best score of a hop to a node, the node it comes from, the entity, and the weight."""
        best: tuple[float, int, UUID | None, float] = (0.0, -1, None, 0.0)
        start, end = np.searchsorted(self._targets, [place, place + 1])
        for at in self._by_memory[start:end]:
            entity = self._entities[at]
            members = self._memories[self._starts[entity] : self._starts[entity + 1]]
            source = members[before[members].argmax()]
            score = float(before[source] * self._factors[at])
            if score > best[0]:
                best = (score, int(source), self._ids[entity], float(self._weights[at]))
        return best


def _segments(sorted_places: Places) -> tuple[Places, Places]:
    """The distinct places, and where each begins."""
    starts = np.flatnonzero(np.diff(sorted_places, prepend=-1))
    return sorted_places[starts], starts


def _placed(nodes: Sequence[UUID], places: Mapping[UUID, int]) -> Places:
    return np.fromiter(map(places.__getitem__, nodes), dtype=np.intp, count=len(nodes))


def _ranks(values: Sequence[Any]) -> Places:
    """The place of each value among the distinct ones in order."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.fromiter(map(ranks.__getitem__, values), dtype=np.intp, count=len(values))
