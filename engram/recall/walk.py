"""The walk from a query's anchors over the edges that a store gave. Pure.

A path's score is its anchor's score times, for each hop, ``(1 - hop_penalty) * weight * multiplier``. All of these are
at most 1 and multipliers are below it, so the best walk to a memory is a simple path: a round trip never pays. A walk
that comes back to its own anchor is cut there: a memory never supports itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WalkEdge:
    """One direction of an edge: ``weight`` and ``multiplier`` as walked from source to target."""

    source: UUID
    target: UUID
    relation_type: str
    direction: str
    weight: float
    multiplier: float
    entity_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """The edges from an anchor to a memory, in walking order."""

    score: float
    anchor: UUID
    anchor_score: float
    edges: tuple[WalkEdge, ...]


class Walk:
    """Best paths to every memory in reach of ``anchors`` (id to score in [0, 1]) within ``max_hops`` edges.

    ``levels[h][a, n]`` is the best score of a walk of exactly ``h`` edges from anchor ``a`` to node ``n``. Cost is
    anchors times edges times hops, in numpy. Equal scores are settled by fewer hops, then by the lesser ids, so the
    order in which edges came does not matter.
    """

    def __init__(
        self, anchors: Mapping[UUID, float], edges: Sequence[WalkEdge], *, max_hops: int, hop_penalty: float
    ) -> None:
        self._anchors = sorted(anchors)
        self._anchor_scores = anchors
        self._edges = sorted(edges, key=lambda e: (e.target, e.source, e.relation_type, e.direction))
        nodes = sorted({*anchors, *(e.source for e in edges), *(e.target for e in edges)})
        self._places = {node: place for place, node in enumerate(nodes)}
        self._sources = np.array([self._places[e.source] for e in self._edges], dtype=np.intp)
        self._targets = np.array([self._places[e.target] for e in self._edges], dtype=np.intp)
        self._factors = np.array([e.weight * e.multiplier for e in self._edges]) * (1 - hop_penalty)
        self._levels = self._walked(max_hops if len(self._edges) else 0)

    def _walked(self, max_hops: int) -> list[NDArray[np.float64]]:
        rows = np.arange(len(self._anchors))
        own = np.array([self._places[anchor] for anchor in self._anchors], dtype=np.intp)
        start = np.zeros((len(self._anchors), len(self._places)))
        start[rows, own] = [self._anchor_scores[anchor] for anchor in self._anchors]
        levels = [start]
        if max_hops == 0:
            return levels
        # Edges are sorted by target: one segment each.
        reached, segments = np.unique(self._targets, return_index=True)
        for _ in range(max_hops):
            steps = levels[-1][:, self._sources] * self._factors
            level = np.zeros_like(start)
            level[:, reached] = np.maximum.reduceat(steps, segments, axis=1)
            level[rows, own] = 0.0
            levels.append(level)
        return levels

    def reached(self) -> dict[UUID, float]:
        """Score of the best path to every memory that one leads to."""
        if len(self._levels) == 1 or not self._anchors:
            return {}
        best = np.maximum.reduce(self._levels[1:]).max(axis=0)
        return {node: float(best[place]) for node, place in self._places.items() if best[place] > 0}

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
            start, end = np.searchsorted(self._targets, [place, place + 1])
            steps = self._levels[hop - 1][anchor, self._sources[start:end]] * self._factors[start:end]
            at = int(start + steps.argmax())
            edges.append(self._edges[at])
            place = int(self._sources[at])
        id = self._anchors[anchor]
        return Path(score, id, self._anchor_scores[id], tuple(reversed(edges)))
