"""The entity graph by brute force: every memory, every pair, every chain. Slow, and written from what is promised.

Knows nothing of sums, states, SQL or caps on reads. A node is a group of names that were merged; most are of one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from engram.memories.schemas import MemoryDetail


@dataclass(frozen=True)
class Observation:
    """A memory: the names that it has, and when it holds. ``earlier`` are periods that ended before it was restored."""

    names: frozenset[str]
    valid_from: datetime
    valid_until: datetime | None
    deleted: bool
    earlier: Sequence[tuple[datetime, datetime]] = ()

    @classmethod
    def of(cls, memory: MemoryDetail, earlier: Sequence[tuple[datetime, datetime]]) -> Observation:
        names = frozenset(entity.name for entity in memory.entities)
        return cls(names, memory.valid_from, memory.valid_until, memory.status.value == "deleted", earlier)

    def holds(self, at: datetime) -> bool:
        last = datetime.max.replace(tzinfo=UTC)
        periods = [*self.earlier, (self.valid_from, self.valid_until or last)]
        return not self.deleted and any(begins <= at < ends for begins, ends in periods)


@dataclass(frozen=True)
class Seen:
    """A node as its parent shows it."""

    parent: int
    name: str
    co_occur: int
    degree: int
    score: float


@dataclass(frozen=True)
class GraphOracle:
    """``names`` are all that there are, canonical; ``groups`` are merged ones, the name they go by first."""

    observations: Sequence[Observation]
    names: Sequence[str]
    now: datetime
    as_of: datetime | None = None
    groups: Sequence[Sequence[str]] = ()
    ids: dict[str, UUID] = field(default_factory=dict)
    _counted: dict[tuple[str, str], int] = field(default_factory=dict, init=False)

    @property
    def at(self) -> datetime:
        return self.as_of or self.now

    def node(self, name: str) -> str:
        return next((group[0] for group in self.groups if name in group), name)

    def members(self, node: str) -> Sequence[str]:
        return next((group for group in self.groups if node in group), (node,))

    def nodes(self) -> list[str]:
        return sorted({self.node(name) for name in self.names})

    def showing(self, node: str, other: str) -> list[Observation]:
        """Memories that hold and name both; as often as they have pairs of their names."""
        return [
            observation
            for observation in self.observations
            if observation.holds(self.at)
            for one in self.members(node)
            for another in self.members(other)
            if {one, another} <= observation.names
        ]

    def co_occur(self, node: str, other: str) -> int:
        if (node, other) not in self._counted:
            self._counted[node, other] = len(self.showing(node, other))
        return self._counted[node, other]

    def degree(self, node: str) -> int:
        """Pairs that the node's names are in, of memories that hold, and have no end."""
        return sum(
            len(observation.names) - 1
            for observation in self.observations
            if observation.holds(self.now) and observation.valid_until is None
            for name in self.members(node)
            if name in observation.names
        )

    def window(self, node: str, other: str) -> tuple[datetime | None, datetime | None]:
        shown = self.showing(node, other)
        ends = [observation.valid_until for observation in shown]
        last = None if None in ends else max(end for end in ends if end is not None)
        return min(observation.valid_from for observation in shown), last

    # What is asked.

    def traverse(
        self,
        seed: str,
        *,
        max_hops: int,
        top_k_per_hop: int,
        min_co_occur: int,
        max_nodes: int,
        hub_degree: int,
        hub_share: float,
        rank_by: str,
    ) -> tuple[list[dict[str, Any]], bool]:
        """The nodes as they are answered, and whether that is not all."""
        seed = self.node(seed)
        answer: list[dict[str, Any]] = []
        visited = {seed}
        front: list[tuple[list[str], int]] = [([seed], 0)]
        for hop in range(1, max_hops + 1):
            offers: list[Seen] = []
            for parent, (path, _) in enumerate(front):
                around = [
                    self._seen(parent, path[-1], other, rank_by)
                    for other in self.nodes()
                    if other not in visited and self.co_occur(path[-1], other) >= min_co_occur
                ]
                offers += sorted(around, key=lambda seen: (-seen.score, -seen.co_occur, seen.name))[:top_k_per_hop]
            chosen = [
                max((seen for seen in offers if seen.name == name), key=lambda seen: (seen.co_occur, -seen.parent))
                for name in {seen.name for seen in offers}
            ]
            following: list[tuple[list[str], int]] = []
            for seen in sorted(chosen, key=lambda seen: (-seen.score, -seen.co_occur, seen.name)):
                if len(answer) == max_nodes:
                    return answer, True
                path, weight = front[seen.parent]
                hub = bool(hub_degree and seen.degree >= hub_degree) or bool(
                    hub_share and seen.co_occur <= hub_share * seen.degree
                )
                begins, ends = self.window(path[-1], seen.name)
                answer.append(
                    {
                        "name": seen.name,
                        "hop": hop,
                        "hub": hub,
                        "score": seen.score,
                        "via_co_occur": seen.co_occur,
                        "cumulative_weight": weight + seen.co_occur,
                        "degree": seen.degree,
                        "path": [*path, seen.name],
                        "valid_from": begins,
                        "valid_until": ends,
                    }
                )
                visited.add(seen.name)
                if not hub:
                    following.append(([*path, seen.name], weight + seen.co_occur))
            front = following
        return answer, False

    def path(self, source: str, target: str, *, max_hops: int, min_co_occur: int) -> list[str]:
        """The best chain; none where there is none."""

        def chains(chain: list[str]) -> Iterator[list[str]]:
            if chain[-1] == self.node(target):
                yield chain
            elif len(chain) <= max_hops:
                for other in self.nodes():
                    if other not in chain and self.co_occur(chain[-1], other) >= min_co_occur:
                        yield from chains([*chain, other])

        def order(chain: list[str]) -> tuple[int, int, list[str]]:
            total = sum(self.co_occur(near, far) for near, far in itertools.pairwise(chain))
            return len(chain), -total, chain

        return min(chains([self.node(source)]), key=order, default=[])

    def related(self, name: str, *, min_co_occur: int) -> list[tuple[str, int, int, str]]:
        """Name, how often, degree and side of all that occurs with an entity."""
        node = self.node(name)
        around = [other for other in self.nodes() if other != node and self.co_occur(node, other) >= min_co_occur]
        return sorted(
            (
                (
                    other,
                    self.co_occur(node, other),
                    max(self.degree(other), self.co_occur(node, other)),
                    "first" if self.ids[node] < self.ids[other] else "second",
                )
                for other in around
            ),
            key=lambda row: (-row[1], row[0]),
        )

    def _seen(self, parent: int, node: str, other: str, rank_by: str) -> Seen:
        co_occur = self.co_occur(node, other)
        # What is observed for a while only is no part of a degree, and a share of it is at most all.
        degree = max(self.degree(other), co_occur)
        score = {
            "co_occur": float(co_occur),
            "specificity": co_occur / degree,
            "cosine": co_occur / math.sqrt(degree),
        }[rank_by]
        return Seen(parent, other, co_occur, degree, score)
