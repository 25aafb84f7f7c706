"""Writing prepared memories: rows, index and declared names, in a transaction of whoever writes them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.entities.service import EntityService
from engram.memories.pending import PendingRepository
from engram.memories.postings import Postings
from engram.memories.preparation import Prepared
from engram.memories.projections import Projector
from engram.memories.registration import model_replaced
from engram.memories.repository import MemoryRepository
from engram.memories.vectors import VectorIndex
from engram.tenants.scope import Scope

PROJECTION_GRACE = timedelta(minutes=1)
"""How long the request that wrote a memory has to make its links before the retry takes over."""

MODEL_CONSTRAINT = "memories_embedding_model_id_fkey"
"""What a server violates whose model is not that of the database any more."""


class MemoryWriter:
    def __init__(self, index: VectorIndex, entities: EntityService, projector: Projector) -> None:
        self._index = index
        self._entities = entities
        self._projector = projector

    async def insert(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        prepared: Prepared,
        postings: Postings,
        now: datetime,
    ) -> set[UUID]:
        """Write memories with what is owed to them, and say which are new: one whose twin stands, or is being written,
        is left out. ``postings`` are of all of them. The caller has entities recount the new ones, at its end.

        Raises ConfigurationProblem where the database has become another model's.
        """
        memories = MemoryRepository(connection, scope)
        try:
            inserted = await memories.insert(agent_id, self._index.model_id, prepared.rows, now)
        except asyncpg.ForeignKeyViolationError as error:
            if error.constraint_name != MODEL_CONSTRAINT:
                raise
            raise model_replaced() from None
        if not inserted:
            return inserted
        new = sorted(inserted)
        await self._entities.declare(connection, scope, agent_id, prepared.declaration.only(inserted))
        await self.owe(connection, scope, agent_id, new, now)
        terms = {id: prepared.terms[id] for id in new}
        if len(new) < len(postings.ids):
            # Somebody else wrote some of them meanwhile.
            postings = await asyncio.to_thread(Postings, terms)
        await memories.add_terms(agent_id, postings, terms)
        passages = {row.id: row.passages for row in prepared.rows if row.id in inserted}
        await memories.add_passages(agent_id, self._index.model_id, passages)
        return inserted

    async def owe(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        memory_ids: list[UUID],
        now: datetime,
        *,
        changed: bool = False,
    ) -> None:
        """Note that links of these memories are to be made: anew, where they have ``changed``."""
        pending, due = PendingRepository(connection), now + PROJECTION_GRACE
        if changed:
            await pending.owe_anew(scope, agent_id, memory_ids, self._projector.names, due)
        else:
            await pending.owe(scope, agent_id, memory_ids, self._projector.names, due)
