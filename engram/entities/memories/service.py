"""Use cases of memories that are found by what they name. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.entities.graph.names import EntityNames
from engram.entities.graph.walk import Entity
from engram.entities.memories.repository import EntityMemoryRepository, names_of
from engram.entities.memories.schemas import RelatedMemories, RelatedMemory, Timeline, TimeOrder
from engram.memories.criteria import PastCriteria
from engram.memories.predicates import Visibility
from engram.memories.schemas import Memory, MemoryPage, MemoryStatus
from engram.memories.seen import Seen
from engram.memories.service import memory_not_found
from engram.paging import decode_cursor, encode_cursor
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.wire import Instant

_ARRIVAL: TypeAdapter[tuple[UUID]] = TypeAdapter(tuple[UUID])
_BEGINNING: TypeAdapter[tuple[Instant, UUID]] = TypeAdapter(tuple[Instant, UUID])


@dataclass(frozen=True, slots=True)
class _Named:
    """What a memory names, and of which agent it is."""

    agent_id: UUID
    entities: list[Entity]


class EntityMemoryService:
    def __init__(self, database: TenantDatabase, names: EntityNames) -> None:
        self._database = database
        self._names = names

    async def related(self, scope: Scope, memory_id: str, seen: Seen, *, limit: int) -> RelatedMemories:
        """What shares entities with a memory, the most telling first. Raises NotFoundProblem where there is no such
        memory, or was none as far as was known."""
        async with self._database.snapshot(scope) as connection:
            named = await self._named(connection, scope, memory_id, seen)
            rows, more = await EntityMemoryRepository(connection, scope).related(
                named.agent_id, UUID(memory_id), named.entities, seen.visibility, limit=limit
            )
        entities = {entity.id: entity for entity in named.entities}
        data = [RelatedMemory.model_validate({**row, "entities": names_of(row, entities)}) for row in rows]
        return RelatedMemories(memory_id=memory_id, data=data, truncated=more)

    async def backlinks(
        self, scope: Scope, memory_id: str, seen: Seen, *, limit: int, cursor: str | None
    ) -> MemoryPage:
        """What names an entity of a memory, the latest to arrive first. Raises NotFoundProblem as ``related``."""
        after = decode_cursor(cursor, _ARRIVAL)[0] if cursor is not None else None
        async with self._database.snapshot(scope) as connection:
            named = await self._named(connection, scope, memory_id, seen)
            rows, more = await EntityMemoryRepository(connection, scope).backlinks(
                named.agent_id, UUID(memory_id), named.entities, seen.visibility, limit=limit, after=after
            )
        data = [Memory.model_validate(row) for row in rows]
        return MemoryPage(data=data, next_cursor=encode_cursor(data[-1].id) if more else None)

    async def timeline(
        self,
        scope: Scope,
        agent_id: str,
        entity: str,
        criteria: PastCriteria,
        *,
        superseded: bool,
        order: TimeOrder,
        limit: int,
        cursor: str | None,
    ) -> Timeline:
        """What names an entity, by when it began to hold: as a list has it, what is current, or with ``as_of`` what
        held then; with ``superseded`` also what was. Raises NotFoundProblem for an unknown agent."""
        after = decode_cursor(cursor, _BEGINNING) if cursor is not None else None
        statuses = (MemoryStatus.current, *((MemoryStatus.superseded,) if superseded else ()))
        seen = Visibility.of(criteria, datetime.now(UTC), statuses=statuses if criteria.as_of is None else None)
        id = UUID(agent_id)
        async with self._database.snapshot(scope) as connection:
            _, (node,) = await self._names.find(connection, scope, id, [entity])
            if node is None:
                return Timeline(entity=entity, found=False, data=[], next_cursor=None)
            rows, more = await EntityMemoryRepository(connection, scope).timeline(
                id, node, seen, newest=order is TimeOrder.newest, limit=limit, after=after
            )
        data = [Memory.model_validate(row) for row in rows]
        last = (data[-1].valid_from.isoformat(), data[-1].id) if more else None
        return Timeline(entity=node.name, found=True, data=data, next_cursor=encode_cursor(*last) if last else None)

    async def _named(self, connection: AsyncConnection, scope: Scope, memory_id: str, seen: Seen) -> _Named:
        memories = EntityMemoryRepository(connection, scope)
        agent_id = await memories.agent_of(UUID(memory_id), seen.known_at)
        if agent_id is None:
            raise memory_not_found(memory_id)
        merged = await self._names.merged(connection, scope, agent_id)
        nodes = (merged.entity(row) for row in await memories.entities_of(agent_id, UUID(memory_id)))
        return _Named(agent_id, list({node.id: node for node in nodes}.values()))
