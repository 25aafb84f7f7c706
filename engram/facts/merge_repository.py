"""SQL of merges. Scope: every statement names the tenant and the agent; look-ups by id the tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.facts.schemas import MAX_MERGES
from engram.tenants.scope import Scope

_COLUMNS = "id, agent_id, name, other, recorded_at, undone_at"


class MergeRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def insert(self, agent_id: UUID, id: UUID, name: str, other: str, now: datetime) -> None:
        await self._driver.execute(
            """
            INSERT INTO fact_merges (agent_id, id, tenant_id, name, other, recorded_at) VALUES ($1, $2, $3, $4, $5, $6)
            """,
            agent_id,
            id,
            self._tenant_id,
            name,
            other,
            now,
        )

    async def standing(self, agent_id: UUID, known_at: datetime | None = None) -> list[dict[str, Any]]:
        """Merges that stand, or stood as far as was known at an instant, in the order in which they were said."""
        p = Parameters()
        if known_at is None:
            stood = "undone_at IS NULL"
        else:
            known = p(known_at, "timestamptz")
            stood = f"recorded_at <= {known} AND (undone_at IS NULL OR undone_at > {known})"
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS} FROM fact_merges
            WHERE agent_id = {p(agent_id, "uuid")} AND tenant_id = {p(self._tenant_id, "uuid")} AND {stood}
            ORDER BY recorded_at, id LIMIT {MAX_MERGES:d}
            """,
            *p.values,
        )
        return [dict(row) for row in rows]

    async def count(self, agent_id: UUID) -> int:
        """Merges that stand."""
        total: int = await self._driver.fetchval(
            "SELECT count(*) FROM fact_merges WHERE agent_id = $1 AND tenant_id = $2 AND undone_at IS NULL",
            agent_id,
            self._tenant_id,
        )
        return total

    async def page(
        self, agent_id: UUID, *, include_undone: bool, limit: int, after: UUID | None
    ) -> list[dict[str, Any]]:
        """Merges, the one said last first."""
        p = Parameters()
        clauses = [f"agent_id = {p(agent_id, 'uuid')}", f"tenant_id = {p(self._tenant_id, 'uuid')}"]
        if not include_undone:
            clauses.append("undone_at IS NULL")
        if after is not None:
            clauses.append(f"id < {p(after, 'uuid')}")
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS} FROM fact_merges WHERE {" AND ".join(clauses)} ORDER BY id DESC LIMIT {p(limit, "int")}
            """,
            *p.values,
        )
        return [dict(row) for row in rows]

    async def agent_of(self, id: UUID) -> UUID | None:
        """The agent of a merge, undone or not."""
        agent_id: UUID | None = await self._driver.fetchval(
            f"""
            SELECT agent_id FROM fact_merges
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) AND {of_seen_agent("fact_merges")}
            """,
            id,
            self._tenant_id,
            self._only,
        )
        return agent_id

    async def undo(self, agent_id: UUID, id: UUID, now: datetime) -> dict[str, Any] | None:
        """Take a merge that stands back. None where none does."""
        row = await self._driver.fetchrow(
            f"""
            UPDATE fact_merges SET undone_at = greatest($4, recorded_at)
            WHERE agent_id = $1 AND tenant_id = $2 AND id = $3 AND undone_at IS NULL RETURNING {_COLUMNS}
            """,
            agent_id,
            self._tenant_id,
            id,
            now,
        )
        return dict(row) if row else None
