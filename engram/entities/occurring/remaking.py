"""Making all that is known of what occurs together anew, from what memories name and from their rows."""

from __future__ import annotations

from uuid import UUID

from engram.entities.occurring.repository import OccurrenceRepository
from engram.entities.occurring.sums import OccurrenceSums
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

MEMORIES = 200
SUMS = 1000
"""Rows that one transaction holds: writers who count under the same wait for no more."""

_FIRST = UUID(int=0)


class OccurrenceRemaking:
    """Beside writers: observations, then the sums of pairs over them, then the degrees over these. Whatever somebody
    did to any of the three tables, they are then what they would be had nobody done it."""

    def __init__(self, database: TenantDatabase, *, memories: int = MEMORIES, sums: int = SUMS) -> None:
        self._database = database
        self._memories = memories
        self._sums = sums

    async def run(self, scope: Scope, agent_id: UUID) -> None:
        after: UUID | None = _FIRST
        while after is not None:
            after = await self._observe(scope, agent_id, after)
        pair: tuple[UUID, UUID] | None = (_FIRST, _FIRST)
        while pair is not None:
            pair = await self._add_up_pairs(scope, agent_id, pair)
        after = _FIRST
        while after is not None:
            after = await self._add_up_degrees(scope, agent_id, after)

    async def _observe(self, scope: Scope, agent_id: UUID, after: UUID) -> UUID | None:
        """The last memory that this came to; None at the end."""
        async with self._database.transaction(scope) as connection:
            ids = await OccurrenceSums(connection, scope).lock_memories(agent_id, after, self._memories)
            if ids:
                await OccurrenceRepository(connection, scope).recount(agent_id, ids)
        return ids[-1] if ids else None

    async def _add_up_pairs(self, scope: Scope, agent_id: UUID, after: tuple[UUID, UUID]) -> tuple[UUID, UUID] | None:
        async with self._database.transaction(scope) as connection:
            sums = OccurrenceSums(connection, scope)
            pairs = await sums.next_pairs(agent_id, after, self._sums)
            if pairs:
                await sums.add_up_pairs(agent_id, pairs)
        return pairs[-1] if pairs else None

    async def _add_up_degrees(self, scope: Scope, agent_id: UUID, after: UUID) -> UUID | None:
        async with self._database.transaction(scope) as connection:
            sums = OccurrenceSums(connection, scope)
            ids = await sums.next_entities(agent_id, after, self._sums)
            if ids:
                await sums.add_up_degrees(agent_id, ids)
        return ids[-1] if ids else None
