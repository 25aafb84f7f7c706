"""Names as the nodes of the entity graph: entities by any spelling, and those that were merged as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import agent_not_found
from engram.entities.canonical import canonical_name
from engram.entities.graph.opening import OpeningRepository
from engram.entities.graph.repository import Merged
from engram.entities.graph.walk import Entity
from engram.entities.repository import EntityRepository
from engram.facts.merges import Groups
from engram.tenants.scope import Scope


class EntityNames:
    """For use cases that are asked about entities, inside their own transactions."""

    async def find(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        spellings: Sequence[str],
        known_at: datetime | None = None,
    ) -> tuple[Merged, list[Entity | None]]:
        """What is merged in an agent, or was as far as was known at an instant, and the entities of these names; None
        where nothing is called so, and nothing else by somebody's word. One round trip, two where something is merged.
        Raises NotFoundProblem where there is no such agent."""
        names = [canonical_name(spelling) for spelling in spellings]
        wanted = [name for name in names if name is not None]
        opening = await OpeningRepository(connection, scope).of(agent_id, wanted, known_at)
        if opening is None:
            raise agent_not_found(agent_id)
        merged = Merged()
        if opening.merges:
            nodes = await _merged_names(EntityRepository(connection, scope), agent_id, opening.merges)
            merged = Merged({node.id: node for node in nodes.values()}.values(), nodes)
        found = {**merged.names, **{row["name"]: merged.entity(row) for row in opening.entities}}
        return merged, [found.get(name) if name is not None else None for name in names]

    async def merged(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> Merged:
        """What is merged in an agent. Raises NotFoundProblem where there is none."""
        merged, _ = await self.find(connection, scope, agent_id, [])
        return merged


async def merged_entities(
    entities: EntityRepository, agent_id: UUID, merges: Iterable[tuple[str, str]]
) -> list[Entity]:
    """A node for each group of entities of which somebody said that they are one, and of which there are any."""
    names = await _merged_names(entities, agent_id, merges)
    return list({node.id: node for node in names.values()}.values())


async def _merged_names(
    entities: EntityRepository, agent_id: UUID, merges: Iterable[tuple[str, str]]
) -> dict[str, Entity]:
    """The same by all names of each group, also those that no memory has."""
    pairs = [(canonical_name(name), canonical_name(other)) for name, other in merges]
    groups = Groups((name, other) for name, other in pairs if name is not None and other is not None)
    names = {name for members in groups.merged.values() for name in members}
    rows = {row["name"]: row for row in await entities.by_names(agent_id, sorted(names))}
    nodes: dict[str, Entity] = {}
    for canonical, members in groups.merged.items():
        there = [rows[name] for name in sorted(members, key=lambda name: (name != canonical, name)) if name in rows]
        if there:
            # By the name that was said to be theirs, where a memory has it; else by the first that one has.
            first = there[0]
            node = Entity(first["id"], tuple(row["id"] for row in there), first["name"], first["display_name"])
            nodes |= dict.fromkeys(sorted(members), node)
    return nodes
