"""A walk over the stored fact graph, hop by hop: which paths go on, and when enough is known. Pure but for its reads.

It gives what ``FactGraph.traverse`` gives over all facts of the partition. Paths that are shorter come first, so a walk
ends with the hop at which there are more than wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from engram.facts.keys import node_key, word_key
from engram.facts.merges import Groups
from engram.facts.names import words_of
from engram.facts.ranking import microseconds
from engram.facts.walking import MAX_CANDIDATES, MAX_SEEDS, Front, Hop


class Reads(Protocol):
    """What a walk reads."""

    async def nodes_of(self, words: Collection[UUID]) -> list[UUID]: ...

    async def named(self, nodes: Collection[UUID]) -> list[UUID]: ...

    async def hop(self, fronts: Sequence[Front], most: int, wanted: int) -> list[Hop]: ...


@dataclass(frozen=True, slots=True)
class Trail:
    """A path by the keys of its facts and nodes."""

    hops: tuple[Hop, ...]
    visited: tuple[UUID, ...]
    """Nodes; of merged ones all of each group."""
    at: tuple[UUID, ...]
    """The last node; where it was merged all of its group."""

    def facts(self) -> tuple[tuple[int, UUID], ...]:
        """Sorts paths as ``ranking.rank`` does those with one newest fact: ids sort as their texts do."""
        return tuple((-microseconds(hop.recorded_at), hop.fact_id) for hop in self.hops)

    def backward(self) -> tuple[bool, ...]:
        """Sorts paths over the same facts."""
        return tuple(not hop.forward for hop in self.hops)

    def newest(self) -> datetime | None:
        return max((hop.recorded_at for hop in self.hops), default=None)


class MergedNodes:
    """Groups of merged names as the keys of one user's nodes."""

    def __init__(self, groups: Groups, user_id: str | None) -> None:
        self._of: dict[UUID, tuple[UUID, ...]] = {}
        for members in groups.merged.values():
            keys = tuple(node_key(user_id, node) for node in sorted(members))
            self._of.update(dict.fromkeys(keys, keys))

    def around(self, node: UUID) -> tuple[UUID, ...]:
        """All nodes of a node's group."""
        return self._of.get(node, (node,))


async def walk(
    reads: Reads, query: str, *, user_id: str | None, groups: Groups, hops: int, limit: int
) -> tuple[list[Trail], bool]:
    """The first ``limit`` paths, and whether there are, or may be, more."""
    words = [word_key(user_id, word) for word in sorted(words_of(query))]
    if not words or hops < 1 or limit < 1:
        return [], False
    seeds = await reads.nodes_of(words)
    merged = MergedNodes(groups, user_id)
    # A group begins once, whichever of its names was found.
    begins = dict.fromkeys(map(merged.around, await _known(reads, seeds[:MAX_SEEDS], merged)))
    level = [Trail((), group, group) for group in begins]
    found: list[Trail] = []
    truncated = len(seeds) > MAX_SEEDS
    for _ in range(hops):
        wanted = limit + 1 - len(found)
        most = max(1, min(wanted, MAX_CANDIDATES // max(len(level), 1)))
        level, cut = _longer(level, await reads.hop(_fronts(level), most, wanted), most, merged)
        # Where the database kept paths back there are more than wanted; else all that it read of each path is here.
        truncated |= cut and most < wanted
        found += level
        if not level or len(found) > limit:
            break
    return found[:limit], truncated or len(found) > limit


async def _known(reads: Reads, seeds: Sequence[UUID], merged: MergedNodes) -> list[UUID]:
    """Seeds but those that no fact names any more, or yet. Such lead nowhere, unless they are merged with others."""
    doubtful = [seed for seed in seeds if len(merged.around(seed)) > 1]
    if not doubtful:
        return list(seeds)
    unnamed = set(doubtful) - set(await reads.named(doubtful))
    return [seed for seed in seeds if seed not in unnamed]


def _fronts(level: Sequence[Trail]) -> list[Front]:
    orders = [(trail.facts(), trail.backward()) for trail in level]
    places = {facts: place for place, facts in enumerate(sorted({facts for facts, _ in orders}))}
    turns = {backward: turn for turn, backward in enumerate(sorted({backward for _, backward in orders}))}
    return [
        Front(trail.at, trail.visited, trail.newest(), places[facts], turns[backward])
        for trail, (facts, backward) in zip(level, orders, strict=True)
    ]


def _longer(level: Sequence[Trail], hops: Iterable[Hop], most: int, merged: MergedNodes) -> tuple[list[Trail], bool]:
    """Paths that are a hop longer, and whether of one path as many ways were read as may be."""
    longer: list[Trail] = []
    ways: dict[int, int] = {}
    for hop in hops:
        trail = level[hop.path]
        ways[hop.path] = ways.get(hop.path, 0) + 1
        reached = merged.around(hop.reached)
        longer.append(Trail((*trail.hops, hop), (*trail.visited, *reached), reached))
    return longer, any(count >= most for count in ways.values())
