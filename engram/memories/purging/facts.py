"""What the purge of a memory asks of the facts, in its own transaction."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.tenants.scope import Scope


class FactSources(Protocol):
    async def forget(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID) -> int:
        """Let no fact name a memory as its source, and erase those that no other memory is a source of; how many were
        erased. Nobody else writes to the agent meanwhile, and the memory goes in the same transaction."""
