"""Nodes and edges of an exported graph, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity, or those that were merged. ``community`` is the name of the strongest member of its community."""

    id: UUID
    name: str
    display_name: str
    aliases: tuple[str, ...]
    degree: int
    community: str | None


@dataclass(frozen=True, slots=True)
class GraphPair:
    """Two entities that occur together; which of them is first says nothing."""

    first: UUID
    second: UUID
    co_occur: int


@dataclass(frozen=True, slots=True)
class GraphFact:
    """A fact of which subject and object are entities."""

    id: UUID
    source: UUID
    target: UUID
    predicate: str
    user_id: str | None
    confidence: float
    status: str
    valid_from: datetime
    valid_until: datetime | None


@dataclass(frozen=True, slots=True)
class GraphHead:
    agent_id: UUID
    agent: str
    exported_at: datetime
    whole: bool
    """With what is invalidated."""


class Format(Protocol):
    """Writes a graph from its head to its end: a file without its end was cut off."""

    media_type: str
    suffix: str

    def begin(self, head: GraphHead) -> str: ...
    def nodes(self, nodes: Iterable[GraphNode]) -> str: ...
    def pairs(self, pairs: Iterable[GraphPair]) -> str: ...
    def facts(self, facts: Iterable[GraphFact]) -> str: ...
    def end(self) -> str: ...


def moment(value: datetime) -> str:
    """ISO 8601 in UTC."""
    return value.isoformat().replace("+00:00", "Z")
