"""What a subgraph holds, in Python: memories, edges among them, and who names what. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, NamedTuple
from uuid import UUID

from engram.graph.relations import UNDIRECTED
from engram.graph.schemas import RelationType

_ENTITY_LINK = RelationType.entity_link.value
_EDGE_COLUMNS = (
    *("sources", "targets", "relation_types", "directions", "weights", "origins"),
    *("begins", "ends", "recorded", "labels", "reasons"),
)


class Node(NamedTuple):
    id: UUID
    hops: int
    strength: float


class Link(NamedTuple):
    """An edge among memories, each once. A computed one is seen from the end from which it weighs more."""

    source: UUID
    target: UUID
    relation_type: str
    weight: float
    origin: str
    entity_id: UUID | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    recorded_at: datetime | None = None
    label: str | None = None
    reason: str | None = None

    @property
    def direction(self) -> str:
        return "both" if RelationType(self.relation_type) in UNDIRECTED else "out"


class Step(NamedTuple):
    """A hop from one memory to another, over the edge of which it keeps most."""

    relation_type: str
    direction: str
    weight: float
    multiplier: float
    entity_id: UUID | None = None

    @property
    def share(self) -> float:
        return self.weight * self.multiplier


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of a statement of ``subgraph``. ``naming`` has the weight of a link toward each memory that names an entity."""

    nodes: list[Node]
    stored: list[Link]
    turns: list[tuple[UUID, UUID, str, float]]
    naming: dict[UUID, dict[UUID, float]]
    truncated: bool

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Surroundings:
        stored, turns = [], []
        for source, target, relation, direction, weight, origin, *details in zip(
            *(row[name] or () for name in _EDGE_COLUMNS), strict=True
        ):
            if direction == "stored":
                stored.append(Link(source, target, relation, weight, origin, None, *details))
            else:
                turns.append((source, target, direction, weight))
        naming: dict[UUID, dict[UUID, float]] = defaultdict(dict)
        for entity, memory, weight in zip(
            row["entities"] or (), row["members"] or (), row["factors"] or (), strict=True
        ):
            naming[entity][memory] = weight
        nodes = [Node(*node) for node in zip(row["ids"] or (), row["hops"] or (), row["strengths"] or (), strict=True)]
        return cls(nodes, stored, turns, dict(naming), row["truncated"])

    def links(self) -> list[Link]:
        """Every edge once, the strongest first; of two that say the same the heavier."""
        best: dict[tuple[UUID, UUID, str], Link] = {}
        for link in [*self.stored, *self._following(), *self._sharing()]:
            key = (link.source, link.target, link.relation_type)
            if key not in best or link.weight > best[key].weight:
                best[key] = link
        return sorted(best.values(), key=lambda link: (-link.weight, link.relation_type, link.source, link.target))

    def _following(self) -> Iterator[Link]:
        for source, target, direction, weight in self.turns:
            if direction == "out":
                yield Link(source, target, "temporal", weight, "temporal")

    def _sharing(self) -> Iterator[Link]:
        """One link for each two memories that share entities: through the one by which it weighs most, of equals the
        first."""
        best: dict[tuple[UUID, UUID], Link] = {}
        for entity in sorted(self.naming):
            for one, other in combinations(sorted(self.naming[entity]), 2):
                there, back = self.naming[entity][other], self.naming[entity][one]
                source, target = (one, other) if there >= back else (other, one)
                weight = max(there, back)
                if weight > 0 and ((one, other) not in best or weight > best[one, other].weight):
                    best[one, other] = Link(source, target, _ENTITY_LINK, weight, "entity", entity)
        yield from best.values()

    def steps(self, multipliers: Mapping[str, float]) -> dict[UUID, dict[UUID, Step]]:
        """Where each memory leads, by the best edge to each: of equals the first by relation, direction and entity."""
        found: dict[UUID, dict[UUID, Step]] = defaultdict(dict)
        for source, target, step in self._hops(multipliers):
            standing = found[source].get(target)
            if standing is None or _order(step) < _order(standing):
                found[source][target] = step
        return dict(found)

    def _hops(self, multipliers: Mapping[str, float]) -> Iterator[tuple[UUID, UUID, Step]]:
        for link in self.stored:
            back = "both" if link.direction == "both" else "in"
            share = multipliers[link.relation_type]
            yield link.source, link.target, Step(link.relation_type, link.direction, link.weight, share)
            yield link.target, link.source, Step(link.relation_type, back, link.weight, share)
        for source, target, direction, weight in self.turns:
            yield source, target, Step("temporal", direction, weight, multipliers["temporal"])
        for entity, memories in self.naming.items():
            reachable = [(memory, weight) for memory, weight in memories.items() if weight > 0]
            for source in memories:
                for target, weight in reachable:
                    if source != target:
                        step = Step(_ENTITY_LINK, "both", weight, multipliers[_ENTITY_LINK], entity)
                        yield source, target, step


def _order(step: Step) -> tuple[float, str, str, int]:
    return -step.share, step.relation_type, step.direction, step.entity_id.int if step.entity_id else 0
