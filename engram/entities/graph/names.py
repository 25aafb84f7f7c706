"""Entities that were merged, as the nodes of the entity graph."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from engram.entities.canonical import canonical_name
from engram.entities.graph.walk import Entity
from engram.entities.repository import EntityRepository
from engram.facts.merges import Groups


async def merged_entities(
    entities: EntityRepository, agent_id: UUID, merges: Iterable[tuple[str, str]]
) -> list[Entity]:
    """A node for each group of entities of which somebody said that they are one, and of which there are any."""
    pairs = [(canonical_name(name), canonical_name(other)) for name, other in merges]
    groups = Groups((name, other) for name, other in pairs if name is not None and other is not None)
    names = {name for members in groups.merged.values() for name in members}
    rows = {row["name"]: row for row in await entities.by_names(agent_id, sorted(names))}
    nodes = []
    for canonical, members in groups.merged.items():
        there = [rows[name] for name in sorted(members, key=lambda name: (name != canonical, name)) if name in rows]
        if there:
            # By the name that was said to be theirs, where a memory has it; else by the first that one has.
            first = there[0]
            nodes.append(Entity(first["id"], tuple(row["id"] for row in there), first["name"], first["display_name"]))
    return nodes
