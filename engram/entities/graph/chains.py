"""The best chain between two entities: a search from both ends that meets in the middle. Pure but for its reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from engram.entities.graph.walk import Entity

MAX_LINKS = 50_000
"""Pairs that one hop of a search looks at."""


@dataclass(frozen=True, slots=True)
class Link:
    """A pair, from one of those that were asked about to another node."""

    near: int
    """The place of the one among those that were asked about."""
    far: Entity
    co_occur: int


class Reads(Protocol):
    async def links(
        self, front: Sequence[Entity], visited: Collection[UUID], *, only: Collection[UUID] | None
    ) -> list[Link]:
        """All pairs of these with what was not visited, or with these ``only``: ``MAX_LINKS``, and one more where there
        are more."""
        ...

    async def around(self, source: Entity, target: Entity) -> tuple[list[Link], list[Link]]:
        """All pairs of each of two ends, as ``links`` has them, in one read."""
        ...


@dataclass(frozen=True, slots=True)
class Chain:
    """From one end of the search to a node: its nodes, and how often each pair of them occurs."""

    nodes: tuple[Entity, ...]
    weights: tuple[int, ...] = ()

    def order(self, *, backward: bool = False) -> tuple[int, tuple[str, ...]]:
        """What comes first is better. ``backward``: it is to be read from its last node to its first."""
        nodes = reversed(self.nodes) if backward else self.nodes
        return (-sum(self.weights), tuple(node.name for node in nodes))


@dataclass(slots=True)
class _Side:
    """One end: the best chain to each node of its last level, and all nodes that it has come to."""

    level: dict[UUID, Chain]
    backward: bool
    """Whether this is the end of the whole chain, which is read toward it."""
    visited: set[UUID] = field(default_factory=set)

    @classmethod
    def at(cls, end: Entity, *, backward: bool) -> _Side:
        return cls({end.id: Chain((end,))}, backward, set(end.ids))

    @property
    def ids(self) -> set[UUID]:
        """What its last level is, under all ids."""
        return {id for chain in self.level.values() for id in chain.nodes[-1].ids}

    async def go_on(self, reads: Reads, *, only: Collection[UUID] | None) -> bool:
        """Go a hop further, to these only where they are given. Whether not all pairs were looked at."""
        front = [chain.nodes[-1] for chain in self.level.values()]
        return self.take(await reads.links(front, self.visited, only=only))

    def take(self, links: Sequence[Link]) -> bool:
        """Go a hop further by the pairs of the last level. Whether they are not all."""
        chains = list(self.level.values())
        self.level = {}
        for link in links[:MAX_LINKS]:
            chain = chains[link.near]
            longer = Chain((*chain.nodes, link.far), (*chain.weights, link.co_occur))
            known = self.level.get(link.far.id)
            if known is None or longer.order(backward=self.backward) < known.order(backward=self.backward):
                self.level[link.far.id] = longer
        self.visited |= self.ids
        return len(links) > MAX_LINKS


async def shortest(reads: Reads, source: Entity, target: Entity, *, max_hops: int) -> tuple[Chain | None, bool]:
    """The chain of fewest pairs; of these the one whose pairs occur most, then the first by names. And whether a bound
    cut the search short: there may be a better chain then, or one where none is found.

    One read for the first hop from either end, and one for each after it, on the side that has come to less; of the
    last hop only what the other side has come to matters.
    """
    if source.id == target.id:
        return Chain((source,)), False
    ahead, behind = _Side.at(source, backward=False), _Side.at(target, backward=True)
    if max_hops == 1:
        truncated = await ahead.go_on(reads, only=behind.ids)
        return _best(ahead, behind), truncated
    from_source, from_target = await reads.around(source, target)
    truncated = ahead.take(from_source)
    direct = _best(ahead, behind)
    if direct is not None:
        return direct, truncated
    truncated |= behind.take(from_target)
    chain = _best(ahead, behind)
    for hop in range(3, max_hops + 1):
        side, other = (ahead, behind) if len(ahead.level) <= len(behind.level) else (behind, ahead)
        if chain is not None or not side.level:
            break
        truncated |= await side.go_on(reads, only=other.ids if hop == max_hops else None)
        chain = _best(ahead, behind)
    return chain, truncated


def _best(ahead: _Side, behind: _Side) -> Chain | None:
    """The best of the chains that meet; None where none do."""
    met = ahead.level.keys() & behind.level.keys()
    return min((_joined(ahead.level[id], behind.level[id]) for id in met), key=Chain.order, default=None)


def _joined(ahead: Chain, behind: Chain) -> Chain:
    return Chain((*ahead.nodes, *reversed(behind.nodes[:-1])), (*ahead.weights, *reversed(behind.weights)))
