"""Memories become tombstones: what each was is kept, and what finds it is taken out of the index.

A tombstone keeps its row, its vectors and its declared names, of which a restoration makes the rest again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.entities.service import EntityService
from engram.facts.statements.service import StatementService
from engram.memories.repository import MemoryRepository
from engram.memories.versions.repository import VersionRepository
from engram.tenants.scope import Scope

ENDED_BY = "delete"
"""What a version says that a deletion ended."""

_INSTANT = timedelta(microseconds=1)


class Removal:
    def __init__(self, entities: EntityService) -> None:
        self._entities = entities
        self._statements = StatementService(entities)

    async def delete_many(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, ids: Sequence[UUID]
    ) -> list[UUID]:
        """Delete those of these memories that are not deleted yet, and say which, ordered by id.

        In a transaction of the caller's, who holds the agent. Rows are locked in the order of their ids: two that
        delete the same memories wait for each other, and each memory is deleted by one of them.
        """
        await self._entities.hold_vectors(connection, scope, agent_id)
        memories = MemoryRepository(connection, scope)
        standing = await memories.lock_changing(agent_id, ids)
        if not standing:
            return []
        deleted = sorted(standing)
        # A clock that was set back must not make a state end before it began.
        now = max(datetime.now(UTC), max(standing.values()) + _INSTANT)
        await VersionRepository(connection, scope).archive(agent_id, deleted, ENDED_BY, now)
        await memories.delete(agent_id, deleted, now)
        await self._entities.forget(connection, scope, agent_id, deleted)
        await memories.remove_terms(agent_id, deleted)
        await self._statements.restate(connection, scope, agent_id, deleted, at=now)
        await self._entities.recount(connection, scope, agent_id, deleted)
        return deleted
