"""SQL of work owed to memories. Claiming is across tenants: it is the server's own work; each row keeps its scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope


@dataclass(frozen=True, slots=True)
class Owed:
    """What is owed to memories of all tenants by one projection: how much, how much of it failed before, and for how
    many seconds the oldest has waited."""

    projection: str
    pending: int
    failed: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Due:
    """What one projection owes to memories of one agent, and was not done by whoever wrote them."""

    projection: str
    tenant_id: UUID
    agent_id: UUID
    memory_ids: list[UUID]


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
        """Note what is owed to new memories."""
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

    async def owe_anew(
        self,
        scope: Scope,
        agent_id: UUID,
        memory_ids: Sequence[UUID],
        projections: Sequence[str],
        next_attempt_at: datetime,
    ) -> None:
        """Note what is owed to memories that have changed. What was owed to what they were is owed no more, and a job
        that had taken it over has given it up."""
        await self._driver.execute(
            """
            INSERT INTO pending_projections AS standing (
                agent_id, tenant_id, memory_id, projection, next_attempt_at, version
            )
            SELECT $1, $2, m.id, p.projection, $5, m.version
            FROM memories m CROSS JOIN unnest($4::text[]) AS p (projection)
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = ANY ($3::uuid[])
            ORDER BY m.id, p.projection
            ON CONFLICT (agent_id, memory_id, projection) DO UPDATE
            SET version = excluded.version, next_attempt_at = excluded.next_attempt_at, attempts = 0, error = NULL,
                job_id = NULL
            WHERE standing.version < excluded.version
            """,
            agent_id,
            scope.tenant_id,
            list(memory_ids),
            list(projections),
            next_attempt_at,
        )

    async def versions(self, agent_id: UUID, memory_ids: Sequence[UUID]) -> dict[UUID, int]:
        """The version of each of these memories to which something is owed."""
        rows = await self._driver.fetch(
            """
            SELECT memory_id, max(version) AS version FROM pending_projections
            WHERE agent_id = $1 AND memory_id = ANY ($2::uuid[]) GROUP BY memory_id ORDER BY memory_id
            """,
            agent_id,
            list(memory_ids),
        )
        return {row["memory_id"]: row["version"] for row in rows}

    async def settle(self, agent_id: UUID, versions: Mapping[UUID, int], projection: str) -> None:
        """Take notes away: those to these versions of memories, or to earlier ones."""
        await self._driver.execute(
            """
            DELETE FROM pending_projections settled
            USING unnest($2::uuid[], $3::int[]) AS made (memory_id, version)
            WHERE settled.agent_id = $1 AND settled.memory_id = made.memory_id AND settled.projection = $4
                AND settled.version <= made.version
            """,
            agent_id,
            list(versions),
            list(versions.values()),
            projection,
        )

    async def note_failure(
        self, agent_id: UUID, memory_ids: Sequence[UUID], projection: str, *, error: str, next_attempt_at: datetime
    ) -> None:
        """Note a failure. What a job has taken over is tried when that is; the rest is due at ``next_attempt_at``."""
        await self._driver.execute(
            """
            UPDATE pending_projections
            SET attempts = attempts + 1, error = $4,
                next_attempt_at = CASE WHEN job_id IS NULL THEN $5 ELSE next_attempt_at END
            WHERE agent_id = $1 AND memory_id = ANY ($2::uuid[]) AND projection = $3
            """,
            agent_id,
            list(memory_ids),
            projection,
            error,
            next_attempt_at,
        )

    async def claim(self, now: datetime, until: datetime, limit: int) -> list[Due]:
        """What is due, moved on to ``until`` so that no other process takes it meanwhile."""
        rows = await self._driver.fetch("SELECT * FROM engram_claim_projections($1, $2, $3)", now, until, limit)
        due: dict[tuple[str, UUID, UUID], list[UUID]] = {}
        for row in sorted(rows, key=lambda row: row["memory_id"]):
            due.setdefault((row["projection"], row["tenant_id"], row["agent_id"]), []).append(row["memory_id"])
        return [Due(*whose, memory_ids) for whose, memory_ids in sorted(due.items())]

    async def hand_over(self, agent_id: UUID, memory_ids: Sequence[UUID], projection: str, job_id: UUID) -> int:
        """Let a job take over what is owed to these memories, and no other has taken; to how many."""
        done: str = await self._driver.execute(
            """
            UPDATE pending_projections SET job_id = $4, next_attempt_at = 'infinity'
            WHERE agent_id = $1 AND memory_id = ANY ($2::uuid[]) AND projection = $3 AND job_id IS NULL
            """,
            agent_id,
            list(memory_ids),
            projection,
            job_id,
        )
        return int(done.removeprefix("UPDATE "))

    async def give_up_moved(self, agent_id: UUID, job_id: UUID) -> None:
        """Owe nothing more to memories that are gone or deleted."""
        await self._driver.execute(
            """
            DELETE FROM pending_projections moved
            WHERE moved.agent_id = $1 AND moved.job_id = $2 AND NOT EXISTS (
                SELECT FROM memories m
                WHERE m.agent_id = $1 AND m.id = moved.memory_id AND m.status <> 'deleted'
            )
            """,
            agent_id,
            job_id,
        )

    async def of_job(self, agent_id: UUID, job_id: UUID) -> dict[UUID, int]:
        """The memories, by id, to which a job owes something, and the version of each that it owes it to."""
        rows = await self._driver.fetch(
            "SELECT memory_id, version FROM pending_projections WHERE agent_id = $1 AND job_id = $2 ORDER BY memory_id",
            agent_id,
            job_id,
        )
        return {row["memory_id"]: row["version"] for row in rows}

    async def count(self) -> int:
        """Memories to which something is owed, over all tenants: a number for the operator."""
        count: int = await self._driver.fetchval("SELECT engram_count_pending()")
        return count

    async def owed(self) -> list[Owed]:
        """By projection, those alone to which memories wait; over all tenants: numbers for the operator."""
        rows = await self._driver.fetch("SELECT * FROM engram_owed_projections()")
        return [Owed(**row) for row in rows]
