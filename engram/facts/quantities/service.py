"""Use cases of numbers that others call inside their own transactions: they follow from memories."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.entities.service import EntityService
from engram.facts.quantities.following import Measured, Measuring, measured
from engram.facts.quantities.repository import QuantityRepository
from engram.tenants.scope import Scope


class QuantityService:
    def __init__(self, entities: EntityService) -> None:
        self._entities = entities

    async def restate(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_ids: Collection[UUID]
    ) -> None:
        """Let the numbers of memories, which the caller has locked, follow from their rows. One that stays what it was
        keeps its place among others of its moment."""
        numbers = QuantityRepository(connection, scope)
        memories = await numbers.memories(agent_id, memory_ids)
        if not memories:
            return
        wanted = await asyncio.to_thread(_wanted, memories)
        known = await numbers.of_memories(agent_id, [memory.id for memory in memories])
        if gone := [id for number, id in known.items() if number not in wanted]:
            await numbers.remove(agent_id, gone)
        new = [number for number in wanted if number not in known]
        if new:
            spellings: defaultdict[str, set[str]] = defaultdict(set)
            for number in new:
                spellings[number.entity].add(wanted[number])
            entities = await self._entities.named(connection, scope, agent_id, spellings)
            await numbers.insert(agent_id, [(uuid7(), number) for number in new], entities)

    async def erase(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID) -> int:
        """Erase the numbers of a memory that is locked; how many."""
        return await QuantityRepository(connection, scope).erase(agent_id, memory_id)


def _wanted(memories: Sequence[Measuring]) -> dict[Measured, str]:
    return {number: spelt for memory in memories for number, spelt in measured(memory).items()}
