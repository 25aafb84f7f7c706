"""Names as the nodes of the entity graph: entities by any spelling, and those that were merged as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService, agent_not_found
from engram.entities.canonical import canonical_name
from engram.entities.graph.repository import Merged
from engram.entities.graph.walk import Entity
from engram.entities.repository import EntityRepository
from engram.facts.merges import Groups
from engram.facts.merging import MergingService
from engram.tenants.scope import Scope


class EntityNames:
    """For use cases that are asked about entities, inside their own transactions."""

    def __init__(self, agents: AgentService, merges: MergingService) -> None:
        self._agents = agents
        self._merges = merges

    async def merged(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, known_at: datetime | None = None
    ) -> Merged:
        """What was merged in an agent, now or at a moment. Raises NotFoundProblem where there is none."""
        if await self._agents.language(connection, scope, agent_id) is None:
            raise agent_not_found(agent_id)
        pairs = await self._merges.said(connection, scope, agent_id, known_at)
        if not pairs:
            return Merged()
        return Merged(await merged_entities(EntityRepository(connection, scope), agent_id, pairs))

    async def find(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, spellings: Sequence[str], merged: Merged
    ) -> list[Entity | None]:
        """The entities of these names; None where nothing is called so."""
        names = [canonical_name(spelling) for spelling in spellings]
        wanted = [name for name in names if name is not None]
        rows = await EntityRepository(connection, scope).by_names(agent_id, wanted)
        found = {row["name"]: merged.entity(row) for row in rows}
        return [found.get(name) if name is not None else None for name in names]


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
