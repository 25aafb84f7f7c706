"""The walk from a query's anchors over the edges that a store gave. Pure.

A path's score is its anchor's score times, for each hop, ``(1 - hop_penalty) * weight * multiplier``. All of these are
at most 1 and multipliers are below it, so the best walk to a memory is a simple path: a round trip never pays. A walk
that comes back to its own anchor is cut there: a memory never supports itself.

Memories that name an entity are all linked to each other. Those links are not spelt out: a hop goes from the memories
to the entity, and from there to the memories, at the weight of the latter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


class WalkEdge(NamedTuple):
    """One direction of an edge: ``weight`` and ``multiplier`` as walked from source to target."""

    source: UUID
    target: UUID
    relation_type: str
    direction: str
    weight: float
    multiplier: float
    entity_id: UUID | None = None


class Naming(NamedTuple):
    """A memory that names an entity. A walk through the entity comes to the memory with ``weight``, 0 for not at all,
    and leaves it for all others."""

    entity_id: UUID
    memory_id: UUID
    weight: float


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
        edges: Sequence[WalkEdge],
        namings: Sequence[Naming] = (),
        *,
        max_hops: int,
        hop_penalty: float,
        entity_multiplier: float = 1.0,
    ) -> None:
        self._anchors = sorted(anchors)
        self._anchor_scores = anchors
        self._edges = sorted(edges, key=lambda e: (e.target, e.source, e.relation_type, e.direction))
        self._entity_multiplier = entity_multiplier
        self._nodes = sorted({*anchors, *(e.source for e in edges), *(e.target for e in edges), *_memories(namings)})
        self._places = {node: place for place, node in enumerate(self._nodes)}
        self._sources = self._placed(e.source for e in self._edges)
        self._targets = self._placed(e.target for e in self._edges)
        self._factors = np.array([e.weight * e.multiplier for e in self._edges], dtype=np.float64) * (1 - hop_penalty)
        self._names = _Names(namings, self._places, entity_multiplier * (1 - hop_penalty))
        self._levels = self._walked(max_hops if self._edges or namings else 0)

    def _placed(self, nodes: Iterable[UUID]) -> NDArray[np.intp]:
        return np.fromiter((self._places[node] for node in nodes), dtype=np.intp)

    def _walked(self, max_hops: int) -> list[Scores]:
        rows = np.arange(len(self._anchors))
        own = self._placed(self._anchors)
        start = np.zeros((len(self._anchors), len(self._nodes)))
        start[rows, own] = [self._anchor_scores[anchor] for anchor in self._anchors]
        levels = [start]
        # Edges are sorted by target: one segment each.
        reached, segments = np.unique(self._targets, return_index=True)
        for _ in range(max_hops):
            level = np.zeros_like(start)
            if len(segments):
                steps = levels[-1][:, self._sources] * self._factors
                level[:, reached] = np.maximum.reduceat(steps, segments, axis=1)
            self._names.step(levels[-1], level)
            level[rows, own] = 0.0
            levels.append(level)
        return levels

    def reached(self) -> dict[UUID, float]:
        """Score of the best path to every memory that one leads to."""
        if len(self._levels) == 1 or not self._anchors:
            return {}
        best = np.maximum.reduce(self._levels[1:]).max(axis=0)
        return {self._nodes[place]: float(best[place]) for place in np.flatnonzero(best)}

    def paths(self, node: UUID, limit: int) -> list[Path]:
        """The best paths to a memory from different anchors, best first."""
        place = self._places.get(node)
        if place is None or len(self._levels) == 1:
            return []
        scores = np.stack([level[:, place] for level in self._levels[1:]])  # (hops, anchors)
        hops = scores.argmax(axis=0)
        best = scores.max(axis=0)
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

    def _last_edge(self, level: Scores, place: int) -> WalkEdge:
        """The edge by which the best walk comes to a node, from the scores of one hop less."""
        start, end = np.searchsorted(self._targets, [place, place + 1])
        steps = level[self._sources[start:end]] * self._factors[start:end]
        direct = float(steps.max(initial=0.0))
        named, source, naming = self._names.last_step(level, place)
        if naming is None or direct >= named:
            return self._edges[int(start + steps.argmax())]
        return WalkEdge(
            self._nodes[source],
            naming.memory_id,
            "entity_link",
            "both",
            naming.weight,
            self._entity_multiplier,
            naming.entity_id,
        )


class _Names:
    """Hops through entities. ``factor`` is what each keeps beside the weight of the memory that it comes to."""

    def __init__(self, namings: Sequence[Naming], places: Mapping[UUID, int], factor: float) -> None:
        self._namings = sorted(namings)
        numbers = {entity: at for at, entity in enumerate(dict.fromkeys(n.entity_id for n in self._namings))}
        self._entities = np.array([numbers[n.entity_id] for n in self._namings], dtype=np.intp)
        self._memories = np.array([places[n.memory_id] for n in self._namings], dtype=np.intp)
        self._factors = np.array([n.weight for n in self._namings], dtype=np.float64) * factor
        self._starts = np.unique(self._entities, return_index=True)[1]
        self._by_memory = np.argsort(self._memories, kind="stable")
        self._reached, self._segments = np.unique(self._memories[self._by_memory], return_index=True)

    def step(self, before: Scores, after: Scores) -> None:
        """Raise ``after``, shape (anchors, nodes), to what one hop from ``before`` gives."""
        if not self._namings:
            return
        entities = np.maximum.reduceat(before[:, self._memories], self._starts, axis=1)
        steps = entities[:, self._entities[self._by_memory]] * self._factors[self._by_memory]
        best = np.maximum.reduceat(steps, self._segments, axis=1)
        after[:, self._reached] = np.maximum(after[:, self._reached], best)

    def last_step(self, before: Scores, place: int) -> tuple[float, int, Naming | None]:
        """The best score of a hop to a node, the node it comes from, and the naming it comes by."""
        best: tuple[float, int, Naming | None] = (0.0, -1, None)
        for at in np.flatnonzero(self._memories == place):
            start, end = np.searchsorted(self._entities, [self._entities[at], self._entities[at] + 1])
            others = before[self._memories[start:end]]
            source = int(others.argmax())
            score = float(others[source] * self._factors[at])
            if score > best[0]:
                best = (score, int(self._memories[start + source]), self._namings[at])
        return best


def _memories(namings: Sequence[Naming]) -> Iterator[UUID]:
    return (naming.memory_id for naming in namings)
