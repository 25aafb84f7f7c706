"""SQL of all current memories of an agent, in the order of their arrival, for work that goes through them all."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope


class MemoryRoll:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def length(self, agent_id: UUID) -> tuple[int, UUID | None]:
        """How many there are, and which is the last."""
        row = await self._driver.fetchrow(
            """
            SELECT count(*)::int AS memories, (
                SELECT l.id FROM memories l WHERE l.agent_id = $1 AND l.tenant_id = $2 AND l.status = 'current'
                ORDER BY l.id DESC LIMIT 1
            ) AS last
            FROM memories m WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.status = 'current'
            """,
            agent_id,
            self._tenant_id,
        )
        assert row is not None  # aggregates give one row always
        return row["memories"], row["last"]

    async def next(self, agent_id: UUID, after: UUID | None, last: UUID, limit: int) -> list[UUID]:
        """The next ones, up to ``last``."""
        rows = await self._driver.fetch(
            """
            SELECT id FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND status = 'current' AND ($3::uuid IS NULL OR id > $3)
                AND id <= $4
            ORDER BY id LIMIT $5
            """,
            agent_id,
            self._tenant_id,
            after,
            last,
            limit,
        )
        return [row["id"] for row in rows]
