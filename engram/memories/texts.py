"""What other domains ask of memories' texts, inside transactions of their own."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.memories.repository import MemoryRepository
from engram.memories.rows import StoredText
from engram.tenants.scope import Scope


class MemoryTexts:
    async def read(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, ids: Sequence[UUID], *, max_chars: int
    ) -> list[StoredText]:
        """The beginnings, of at most ``max_chars``, of those of these memories that are not deleted, and of normal
        sensitivity: of the others nothing is made."""
        return await MemoryRepository(connection, scope).texts(agent_id, ids, max_chars=max_chars)

    async def holding_all(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, phrases: Sequence[Sequence[str]], limit: int
    ) -> list[UUID]:
        """Memories in which all terms of one of the phrases stand: of each phrase the latest ``limit``."""
        return await MemoryRepository(connection, scope).holding_all(agent_id, phrases, limit)

    async def lock(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, texts: Sequence[StoredText]
    ) -> set[UUID]:
        """Those of the memories with these texts that stand and say the same still; until the transaction ends nobody
        else changes them."""
        standing = await MemoryRepository(connection, scope).lock(agent_id, [text.id for text in texts])
        return {text.id for text in texts if standing.get(text.id) == text.digest}
