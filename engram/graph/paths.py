"""The best simple paths between two memories. Pure.

A search from the best bound on: what a path may come to at most is what it has kept so far, times the best that any
walk keeps from its end to the target within the hops that are left. Paths come out in order, and what cannot be among
the best is not tried.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from engram.graph.surroundings import Step

MAX_TRIED = 200_000
"""Beginnings of paths that a search looks at: with many equal paths there is no end of them."""

_ROUNDING = 1 + 1e-9
"""A bound is multiplied in another order than the path that it is for, and must not fall below that."""

Steps = Mapping[UUID, Mapping[UUID, Step]]


class FoundPath(NamedTuple):
    """From the source to the target; ``strength`` is what its hops keep."""

    strength: float
    memories: tuple[UUID, ...]


class _Beginning(NamedTuple):
    """Ordered by the bound, then by hops and memories: places, which are ordered as ids are."""

    negative_bound: float
    hops: int
    places: tuple[int, ...]
    strength: float
    complete: bool


class PathSearch:
    """Paths of at most ``max_hops`` hops, each memory once. ``keep`` is what a hop keeps beside its step's share.

    Of equally strong ones those of fewer hops come first, then those of lesser ids.
    """

    def __init__(self, steps: Steps, source: UUID, target: UUID, *, max_hops: int, keep: float) -> None:
        self._ids = sorted({source, target, *steps, *(id for reached in steps.values() for id in reached)})
        places = {id: place for place, id in enumerate(self._ids)}
        self._next = [
            sorted((places[id], keep * step.share) for id, step in steps.get(node, {}).items()) for node in self._ids
        ]
        self._source, self._target = places[source], places[target]
        self._max_hops = max_hops
        self._left = self._best_walks()
        self._tried = 0

    @property
    def truncated(self) -> bool:
        return self._tried >= MAX_TRIED

    def strongest(self, limit: int) -> list[FoundPath]:
        return self._search(range(1, self._max_hops + 1), limit)

    def shortest(self, limit: int) -> list[FoundPath]:
        """Those of fewest hops; of as many the strongest first."""
        found: list[FoundPath] = []
        for hops in range(1, self._max_hops + 1):
            found += self._search((hops,), limit - len(found))
            if len(found) == limit:
                break
        return found

    def _best_walks(self) -> list[list[float]]:
        """What the best walk of exactly so many hops keeps from each node to the target."""
        at_target = [0.0] * len(self._ids)
        at_target[self._target] = 1.0
        left = [at_target]
        for _ in range(self._max_hops):
            before = left[-1]
            left.append(
                [max((share * before[place] for place, share in reached), default=0.0) for reached in self._next]
            )
        return left

    def _search(self, lengths: Iterable[int], limit: int) -> list[FoundPath]:
        allowed = sorted(lengths)
        # What is left at best after so many hops, by node.
        rest = [
            [max(left) for left in zip(*(self._left[n - hops] for n in allowed if n >= hops), strict=True)]
            for hops in range(allowed[-1] + 1)
        ]
        found: list[FoundPath] = []
        weakest: list[float] = []
        waiting = [_Beginning(-1.0, 0, (self._source,), 1.0, complete=False)]
        while waiting and len(found) < limit and not self.truncated:
            first = heapq.heappop(waiting)
            if first.complete:
                found.append(self._path(first))
                continue
            hops = first.hops + 1
            if hops > allowed[-1]:
                continue
            for place, share in self._next[first.places[-1]]:
                bound = first.strength * share * rest[hops][place] * _ROUNDING
                if bound == 0 or place in first.places or (len(weakest) == limit and bound < weakest[0]):
                    continue
                self._tried += 1
                places, strength = (*first.places, place), first.strength * share
                if place != self._target:
                    heapq.heappush(waiting, _Beginning(-bound, hops, places, strength, complete=False))
                elif hops in allowed:
                    heapq.heappush(waiting, _Beginning(-strength, hops, places, strength, complete=True))
                    heapq.heappush(weakest, strength)
                    if len(weakest) > limit:
                        heapq.heappop(weakest)
        if self.truncated:
            # The best of what was found so far: there may be better ones.
            known = sorted(beginning for beginning in waiting if beginning.complete)
            found += [self._path(beginning) for beginning in known[: limit - len(found)]]
        return found

    def _path(self, found: _Beginning) -> FoundPath:
        return FoundPath(found.strength, tuple(self._ids[place] for place in found.places))
