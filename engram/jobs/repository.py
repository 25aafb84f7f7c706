"""SQL of jobs. Scope: every statement names the tenant, and the agent where a key is for one; look-ups of open jobs of
all tenants are functions of the database, for the server's own work."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.jobs.rows import JobCount, Listing, Ticket, Work
from engram.jobs.schemas import JobKind
from engram.tenants.scope import Scope

_COLUMNS = (
    "id, kind, agent_id, projection, status, attempts, error, done, total, created_at, due_at, started_at, finished_at"
)
_MINE = "tenant_id = $1 AND ($2::uuid IS NULL OR agent_id = $2)"


class JobRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def insert(
        self, id: UUID, agent_id: UUID, kind: JobKind, now: datetime, *, projection: str | None = None
    ) -> bool:
        """Whether the job is new; not so where one of its kind is to be alone at an agent, and another is there."""
        status: str = await self._driver.execute(
            """
            INSERT INTO jobs (tenant_id, id, agent_id, kind, projection, status, created_at, due_at)
            VALUES ($1, $2, $3, $4, $5, 'waiting', $6, $6)
            ON CONFLICT DO NOTHING
            """,
            self._tenant_id,
            id,
            agent_id,
            kind.value,
            projection,
            now,
        )
        return status == "INSERT 0 1"

    async def get(self, id: UUID) -> dict[str, Any] | None:
        row = await self._driver.fetchrow(
            f"SELECT {_COLUMNS} FROM jobs WHERE {_MINE} AND id = $3", self._tenant_id, self._only, id
        )
        return dict(row) if row else None

    async def standing(self, agent_id: UUID, kind: JobKind) -> dict[str, Any] | None:
        """The open job of an agent of a kind of which there is one at a time."""
        row = await self._driver.fetchrow(
            f"""
            SELECT {_COLUMNS} FROM jobs
            WHERE {_MINE} AND agent_id = $3 AND kind = $4 AND status IN ('waiting', 'running')
            """,
            self._tenant_id,
            self._only,
            agent_id,
            kind.value,
        )
        return dict(row) if row else None

    async def page(self, listing: Listing, *, limit: int, after: UUID | None) -> list[dict[str, Any]]:
        """Jobs, the latest first, after the one of that id."""
        p = Parameters()
        clauses = [f"tenant_id = {p(self._tenant_id, 'uuid')}"]
        if self._only is not None:
            clauses.append(f"agent_id = {p(self._only, 'uuid')}")
        if listing.agent_id is not None:
            clauses.append(f"agent_id = {p(listing.agent_id, 'uuid')}")
        if listing.status is not None:
            clauses.append(f"status = {p(listing.status, 'text')}")
        if listing.kind is not None:
            clauses.append(f"kind = {p(listing.kind, 'text')}")
        if after is not None:
            clauses.append(f"id < {p(after, 'uuid')}")
        rows = await self._driver.fetch(
            f"SELECT {_COLUMNS} FROM jobs WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT {p(limit, 'int')}",
            *p.values,
        )
        return [dict(row) for row in rows]

    async def revive(self, id: UUID, now: datetime) -> bool:
        """Let a dead job wait again, with all its attempts; false for one that is not dead."""
        status: str = await self._driver.execute(
            f"""
            UPDATE jobs SET status = 'waiting', attempts = 0, due_at = $4, finished_at = NULL
            WHERE {_MINE} AND id = $3 AND status = 'dead'
            """,
            self._tenant_id,
            self._only,
            id,
            now,
        )
        return status == "UPDATE 1"

    async def dead(self, listing: Listing, limit: int) -> list[dict[str, Any]]:
        """Dead jobs, the oldest first, held until the transaction ends."""
        rows = await self._driver.fetch(
            f"""
            SELECT id, kind, agent_id FROM jobs
            WHERE {_MINE} AND status = 'dead' AND ($3::uuid IS NULL OR agent_id = $3)
                AND ($4::text IS NULL OR kind = $4)
            ORDER BY id LIMIT $5 FOR UPDATE
            """,
            self._tenant_id,
            self._only,
            listing.agent_id,
            listing.kind,
            limit,
        )
        return [dict(row) for row in rows]

    async def begin(self, id: UUID, now: datetime) -> Work | None:
        """Begin an attempt; None for a job that is finished, or gone with its agent."""
        row = await self._driver.fetchrow(
            """
            UPDATE jobs SET status = 'running', attempts = attempts + 1, started_at = coalesce(started_at, $3)
            WHERE tenant_id = $1 AND id = $2 AND status IN ('waiting', 'running')
            RETURNING id, agent_id, kind, projection, attempts, total, reached, last
            """,
            self._tenant_id,
            id,
            now,
        )
        return Work(**dict(row)) if row else None

    async def measure(self, id: UUID, total: int, last: UUID | None = None) -> None:
        """Note how much there is to do, and with which memory it ends."""
        await self._driver.execute(
            "UPDATE jobs SET total = $3, last = $4, done = 0 WHERE tenant_id = $1 AND id = $2",
            self._tenant_id,
            id,
            total,
            last,
        )

    async def advance(self, id: UUID, done: int, reached: UUID | None = None) -> None:
        """Note that so many more memories are done, up to ``reached``."""
        await self._driver.execute(
            """
            UPDATE jobs SET done = done + $3, reached = coalesce($4, reached)
            WHERE tenant_id = $1 AND id = $2 AND status = 'running'
            """,
            self._tenant_id,
            id,
            done,
            reached,
        )

    async def postpone(self, id: UUID, due_at: datetime, error: str | None, *, counted: bool = True) -> None:
        """Let a job wait for its next attempt. One that is not ``counted`` was not the job's fault."""
        await self._driver.execute(
            """
            UPDATE jobs SET status = 'waiting', due_at = $3, error = coalesce($4, error), attempts = attempts - $5
            WHERE tenant_id = $1 AND id = $2 AND status = 'running'
            """,
            self._tenant_id,
            id,
            due_at,
            error,
            0 if counted else 1,
        )

    async def finish(self, id: UUID, now: datetime, *, dead_of: str | None = None) -> None:
        """End a job: as done, or as dead of an error of that class."""
        await self._driver.execute(
            """
            UPDATE jobs SET status = CASE WHEN $4::text IS NULL THEN 'done' ELSE 'dead' END, error = $4,
                finished_at = $3
            WHERE tenant_id = $1 AND id = $2 AND status = 'running'
            """,
            self._tenant_id,
            id,
            now,
            dead_of,
        )


class AllJobs:
    """What the server asks of the jobs of all tenants."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def unqueued(self, due_before: datetime, limit: int) -> list[Ticket]:
        """Open jobs that were due and that the queue knows nothing of."""
        rows = await self._driver.fetch("SELECT * FROM engram_unqueued_jobs($1, $2)", due_before, limit)
        return [Ticket(row["tenant_id"], row["id"], JobKind(row["kind"])) for row in rows]

    async def changed_communities(self, limit: int) -> list[tuple[UUID, UUID]]:
        """Tenant and id of agents that have changed since the communities of their entities were computed."""
        rows = await self._driver.fetch("SELECT * FROM engram_changed_communities($1)", limit)
        return [(row["tenant_id"], row["agent_id"]) for row in rows]

    async def count(self) -> list[JobCount]:
        rows = await self._driver.fetch("SELECT * FROM engram_count_jobs()")
        return [JobCount(**row) for row in rows]

    async def forget(self, done_before: datetime, limit: int) -> int:
        """Remove records of jobs that were done before; how many."""
        forgotten: int = await self._driver.fetchval("SELECT engram_forget_jobs($1, $2)", done_before, limit)
        return forgotten
