"""Use cases of entities' vectors that other domains call inside their own transactions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.embeddings.base import Vectors
from engram.entities.vectors.repository import EntityVectorRepository, NearEntity
from engram.memories.pending import PendingRepository
from engram.memories.vectors import VectorIndex
from engram.tenants.scope import Scope

ENTITY_VECTORS = "entity_vectors"
"""Name of the projection that makes them."""


class EntityVectorSearch:
    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    async def nearest(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        vector: Vectors,
        *,
        user_id: str | None,
        floor: float,
        limit: int,
        indexed: bool,
    ) -> list[NearEntity]:
        """The entities, at most ``limit``, whose vectors are nearest to this, of a cosine above ``floor``; the nearest
        first. With ``user_id`` by the vectors that were made of that user's memories; ``indexed`` where the transaction
        is set to search so."""
        rows = EntityVectorRepository(connection, scope, agent_id)
        return await rows.nearest(vector, self._index, user_id=user_id, floor=floor, limit=limit, indexed=indexed)


class EntityVectors:
    def __init__(self, *, made: bool) -> None:
        """``made``: whether any are. Where none are, what stands of earlier is still taken away."""
        self._made = made

    async def hold(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> None:
        """Begin what will ``forget``: before any memory, entity or word is written or locked, so that whoever holds one
        of these never waits for this."""
        if self._made:
            await EntityVectorRepository(connection, scope, agent_id).hold(alone=True)

    async def forget(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        memory_ids: Sequence[UUID],
        *,
        going: Collection[UUID],
    ) -> None:
        """Take away what was made of memories that the caller has locked, and changes or erases: an embedding tells of
        its text. What tells of the same entities is owed theirs, these memories too but for those that are ``going``,
        or whose names are; also where there is none yet, for it may be one of them that owes it."""
        rows = EntityVectorRepository(connection, scope, agent_id)
        if not self._made:
            await rows.remove_made_of(memory_ids)
            return
        # Two at once might each leave it to the memory that the other erases.
        await rows.hold(alone=True)
        gone = await rows.remove_made_of(memory_ids)
        if telling := await rows.owing(gone, memory_ids, but=going):
            pending = PendingRepository(connection)
            await pending.owe_anew(scope, agent_id, telling, [ENTITY_VECTORS], datetime.now(UTC))
