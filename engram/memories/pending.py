"""SQL of work owed to memories. Claiming is across tenants: it is the server's own work; each row keeps its scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope

Due = dict[str, dict[tuple[UUID, UUID], list[UUID]]]
"""Memory ids by projection, and by tenant and agent."""


@dataclass(frozen=True, slots=True)
class Owed:
    """What is owed to memories of all tenants by one projection: how much, how much of it failed before, and for how
    many seconds the oldest has waited."""

    projection: str
    pending: int
    failed: int
    oldest_seconds: float


class PendingRepository:
    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def owe(
        self,
        scope: Scope,
        agent_id: UUID,
        memory_ids: Sequence[UUID],
        projections: Sequence[str],
        next_attempt_at: datetime,
    ) -> None:
        await self._driver.execute(
            """
            INSERT INTO pending_projections (agent_id, tenant_id, memory_id, projection, next_attempt_at)
            SELECT $1, $2, owed.memory_id, owed.projection, $5
            FROM unnest($3::uuid[]) AS m (memory_id) CROSS JOIN LATERAL (
                SELECT m.memory_id, p.projection FROM unnest($4::text[]) AS p (projection)
            ) AS owed
            ORDER BY owed.memory_id, owed.projection
            ON CONFLICT DO NOTHING
            """,
            agent_id,
            scope.tenant_id,
            list(memory_ids),
            list(projections),
            next_attempt_at,
        )

    async def settle(self, agent_id: UUID, memory_ids: Sequence[UUID], projection: str) -> None:
        await self._driver.execute(
            """
            DELETE FROM pending_projections
            WHERE agent_id = $1 AND memory_id = ANY ($2::uuid[]) AND projection = $3
            """,
            agent_id,
            list(memory_ids),
            projection,
        )

    async def note_failure(
        self,
        agent_id: UUID,
        memory_ids: Sequence[UUID],
        projection: str,
        *,
        error: str,
        now: datetime,
        first: timedelta,
        longest: timedelta,
    ) -> None:
        """Note a failure; the pause before the next attempt doubles each time, up to ``longest``."""
        await self._driver.execute(
            """
            UPDATE pending_projections
            SET attempts = attempts + 1, error = $4,
                next_attempt_at = $5::timestamptz + least($6::interval * power(2, least(attempts, 20)), $7::interval)
            WHERE agent_id = $1 AND memory_id = ANY ($2::uuid[]) AND projection = $3
            """,
            agent_id,
            list(memory_ids),
            projection,
            error,
            now,
            first,
            longest,
        )

    async def claim(self, now: datetime, until: datetime, limit: int) -> Due:
        """What is due, moved on to ``until`` so that no other process takes it meanwhile."""
        rows = await self._driver.fetch("SELECT * FROM engram_claim_projections($1, $2, $3)", now, until, limit)
        due: Due = {}
        for row in sorted(rows, key=lambda row: row["memory_id"]):
            agents = due.setdefault(row["projection"], {})
            agents.setdefault((row["tenant_id"], row["agent_id"]), []).append(row["memory_id"])
        return due

    async def count(self) -> int:
        """Memories to which something is owed, over all tenants: a number for the operator."""
        count: int = await self._driver.fetchval("SELECT engram_count_pending()")
        return count

    async def owed(self) -> list[Owed]:
        """By projection, those alone to which memories wait; over all tenants: numbers for the operator."""
        rows = await self._driver.fetch("SELECT * FROM engram_owed_projections()")
        return [Owed(**row) for row in rows]
