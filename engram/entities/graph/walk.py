"""A walk over what occurs together: each hop is trimmed before the next begins. Pure but for its reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from engram.entities.graph.schemas import TripleDirection
from engram.facts.schemas import Provenance


@dataclass(frozen=True, slots=True)
class Entity:
    """A node. Merged entities are one, under the id and names of the first; ``ids`` are those of all of them."""

    id: UUID
    ids: tuple[UUID, ...]
    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class Via:
    """What a triple says of a node and its parent."""

    relation: str
    direction: TripleDirection
    provenance: Provenance | None


@dataclass(frozen=True, slots=True)
class Step:
    """What a node was seen with: one of the best of its parent."""

    parent: int
    """The parent's place among those that were asked about."""
    entity: Entity
    co_occur: int
    degree: int
    score: float
    valid_from: datetime | None
    valid_until: datetime | None
    community: str | None = None
    """The name of the strongest member of its community."""
    via: Via | None = None


@dataclass(frozen=True, slots=True)
class Node:
    hop: int
    step: Step
    hub: bool
    cumulative_weight: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hubs:
    """When a node is too common to go on from. 0 switches either rule off."""

    degree: int
    share: float

    def __contains__(self, step: Step) -> bool:
        by_degree = bool(self.degree) and step.degree >= self.degree
        return by_degree or (self.share > 0 and step.co_occur <= self.share * step.degree)


class Reads(Protocol):
    async def hop(self, front: Sequence[Entity], visited: Collection[UUID]) -> list[Step]:
        """Of each of these the best that it occurs with, but for what was visited."""
        ...


async def traverse(reads: Reads, seed: Entity, *, max_hops: int, max_nodes: int, hubs: Hubs) -> tuple[list[Node], bool]:
    """The nodes around a seed, by hop, then the best first; and whether there are more than ``max_nodes``.

    One read a hop. A node that several parents lead to goes to the one that it occurs with most, of equals to the one
    that comes first. The seed goes on whatever it is.
    """
    nodes: list[Node] = []
    visited = set(seed.ids)
    parents: list[Node | None] = [None]
    front = [seed]
    for hop in range(1, max_hops + 1):
        best: dict[UUID, Step] = {}
        for step in await reads.hop(front, visited):
            known = best.get(step.entity.id)
            if known is None or (-step.co_occur, step.parent) < (-known.co_occur, known.parent):
                best[step.entity.id] = step
        steps = sorted(best.values(), key=lambda step: (-step.score, -step.co_occur, step.entity.name))
        room = max_nodes - len(nodes)
        reached = [_node(hop, step, parents[step.parent], seed, step in hubs) for step in steps[:room]]
        nodes += reached
        if len(steps) > room:
            return nodes, True
        visited.update(id for step in steps for id in step.entity.ids)
        going_on = [node for node in reached if not node.hub]
        parents, front = [*going_on], [node.step.entity for node in going_on]
        if not front:
            break
    return nodes, False


def _node(hop: int, step: Step, parent: Node | None, seed: Entity, hub: bool) -> Node:
    path = (seed.name,) if parent is None else parent.path
    weight = step.co_occur + (0 if parent is None else parent.cumulative_weight)
    return Node(hop, step, hub, weight, (*path, step.entity.name))
