"""What a change of memories asks of the graph, in the change's own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.tenants.scope import Scope

Succession = tuple[UUID, UUID, datetime]
"""The newer memory, the older one, and when the newer took its place."""


class SupersessionEdges(Protocol):
    """``supersedes`` edges, newer → older."""

    async def draw(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        replaced: Sequence[Succession],
        now: datetime | None = None,
    ) -> None:
        """Draw each of these, or open it again."""

    async def close(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        replaced: Sequence[Succession],
        now: datetime | None = None,
    ) -> None:
        """End those of these that are open."""


class ThematicLinks(Protocol):
    async def forget(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID, now: datetime
    ) -> None:
        """Take away the links that were found by what a memory's text was."""
