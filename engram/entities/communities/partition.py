"""Communities of a weighted graph, by label propagation. Pure; imports the graph library, which takes seconds.

Nodes are numbers from 0. The same pairs in the same order always give the same: one thread, one seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import networkit
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

MOST_DROPPED = 0.32
"""Share of the nodes that are left out as hubs at the most. What no five doublings take apart is one."""

HARDLY = 1.25
"""More nodes are left out only where that makes the largest community smaller by more than this factor."""

MAX_LEVELS = 5

_SEED = 1


@dataclass(frozen=True, slots=True)
class Pairs:
    """Edges without direction: ends, and weights above 0. None leads from a node to itself, none is there twice."""

    first: Numbers
    second: Numbers
    weight: Numbers

    def where(self, chosen: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.first[chosen], self.second[chosen], self.weight[chosen])

    def joined(self, node: Numbers, count: int) -> Pairs:
        """The pairs of what the nodes are put into: ``node`` says into which of ``count``, -1: into none."""
        near, far = node[self.first], node[self.second]
        apart = (near >= 0) & (far >= 0) & (near != far)
        near, far = near[apart], far[apart]
        keys, place = np.unique(np.minimum(near, far) * count + np.maximum(near, far), return_inverse=True)
        weight = np.bincount(place, self.weight[apart], minlength=len(keys)).astype(np.int64)
        return Pairs(keys // max(count, 1), keys % max(count, 1), weight)

    def strengths(self, count: int) -> Numbers:
        """The sum of the weights at each node."""
        sums = np.bincount(self.first, self.weight, count) + np.bincount(self.second, self.weight, count)
        return sums.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Partition:
    """``levels``, the finest first, hold for each node the number of the strongest member of its community; -1 for one
    that has none. ``dropped`` nodes were left out as hubs."""

    levels: list[Numbers]
    dropped: int


@dataclass(frozen=True, slots=True)
class _Attempt:
    labels: Numbers
    dropped: int
    giant: float
    """The share of its nodes that the largest community holds."""


def partition(pairs: Pairs, count: int, *, hub_drop: float, giant_share: float) -> Partition:
    """Communities of ``count`` nodes, by level.

    The ``hub_drop`` of the nodes, those of the highest strength, are left out first; twice as many while one community
    holds more than ``giant_share`` of the others. Where that never comes true, as in a graph of three communities,
    as few are left out as make no great difference. Each further level puts the communities of the one before
    together, in the same way, while none holds more than ``giant_share``.
    """
    attempt = _apart(pairs, count, hub_drop, giant_share)
    levels = [attempt.labels]
    while len(levels) < MAX_LEVELS:
        higher = _higher(pairs, levels[-1], giant_share)
        if higher is None:
            break
        levels.append(higher)
    named = [_named(pairs, labels, count) for labels in levels]
    return Partition([level for level in named if np.any(level >= 0)], attempt.dropped)


def _apart(pairs: Pairs, count: int, hub_drop: float, giant_share: float) -> _Attempt:
    made = []
    for attempt in _attempts(pairs, count, hub_drop):
        if attempt.giant <= giant_share:
            return attempt
        made.append(attempt)
    smallest = min(attempt.giant for attempt in made)
    return next(attempt for attempt in made if attempt.giant <= HARDLY * smallest)


def _attempts(pairs: Pairs, count: int, hub_drop: float) -> Iterator[_Attempt]:
    strengths = pairs.strengths(count)
    # The strongest first, of equals the one of the lower number.
    order = np.lexsort((np.arange(count), -strengths))
    share, dropped = hub_drop, -1
    while share <= max(MOST_DROPPED, hub_drop):
        if int(share * count) > dropped:
            dropped = int(share * count)
            kept = np.ones(count, dtype=bool)
            kept[order[:dropped]] = False
            labels = _propagated(pairs.where(kept[pairs.first] & kept[pairs.second]), count)
            labels[~kept] = -1
            yield _Attempt(labels, dropped, _largest(labels))
        if not share:
            return
        share *= 2


def _higher(pairs: Pairs, labels: Numbers, giant_share: float) -> Numbers | None:
    """The level above; None where there is none to speak of."""
    known, place = np.unique(labels, return_inverse=True)
    # Below all others where it is there.
    unplaced = int(-1 in known)
    node, count = place.astype(np.int64) - unplaced, len(known) - unplaced
    between = pairs.joined(node, count)
    if not len(between.first):
        return None
    above = _propagated(between, count)
    if len(np.unique(above)) == count:
        return None
    higher = np.where(node >= 0, above[node], -1)
    return higher if _largest(higher) <= giant_share else None


def _propagated(pairs: Pairs, count: int) -> Numbers:
    if not len(pairs.first):
        return np.arange(count, dtype=np.int64)
    networkit.setNumberOfThreads(1)
    networkit.engineering.setSeed(_SEED, False)
    coordinates = (pairs.weight.astype(np.float64), (pairs.first.astype(np.uint64), pairs.second.astype(np.uint64)))
    graph: Any = networkit.GraphFromCoo(coordinates, n=count, weighted=True, directed=False)
    found = networkit.community.PLP(graph).run().getPartition()
    return np.array(found.getVector(), dtype=np.int64)


def _largest(labels: Numbers) -> float:
    inside = labels[labels >= 0]
    return float(np.bincount(inside).max() / len(inside)) if len(inside) else 0.0


def _named(pairs: Pairs, labels: Numbers, count: int) -> Numbers:
    """Labels by the strongest member: the one that occurs most within, of equals the one of the lowest number.

    A node that is alone has no community.
    """
    strengths = pairs.where((labels[pairs.first] == labels[pairs.second]) & (labels[pairs.first] >= 0)).strengths(count)
    order = np.lexsort((np.arange(count), -strengths, labels))
    known, first, members = np.unique(labels[order], return_index=True, return_counts=True)
    name = np.where((members > 1) & (known >= 0), order[first], -1)
    named: Numbers = name[np.searchsorted(known, labels)]
    return named
