"""SQL that counts what an agent holds. Every statement names the agent, whose tenant was checked, and the tenant."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope


class AgentCounts:
    def __init__(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> None:
        self._driver = driver(connection)
        self._of_agent = (agent_id, scope.tenant_id)

    async def memories(self) -> dict[str, int]:
        """By status."""
        return await self._by(
            "SELECT status AS name, count(*) AS number FROM memories WHERE agent_id = $1 AND tenant_id = $2"
            " GROUP BY status ORDER BY status"
        )

    async def edges(self) -> dict[str, int]:
        """Stored ones that stand between memories that are not deleted, by type."""
        return await self._by(
            """
            SELECT e.relation_type AS name, count(*) AS number FROM edges e
            JOIN memories s ON s.agent_id = $1 AND s.tenant_id = $2 AND s.id = e.source_id AND s.status <> 'deleted'
            JOIN memories t ON t.agent_id = $1 AND t.tenant_id = $2 AND t.id = e.target_id AND t.status <> 'deleted'
            WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.invalidated_at IS NULL
            GROUP BY e.relation_type ORDER BY e.relation_type
            """
        )

    async def entities(self) -> int:
        return await self._number("SELECT count(*) FROM entities WHERE agent_id = $1 AND tenant_id = $2")

    async def facts(self) -> dict[str, int]:
        """By status, and of those that stand what another superseded by itself."""
        return await self._by(
            """
            SELECT f.name, count(*) AS number FROM (
                SELECT CASE WHEN status = 'standing' AND superseded_by IS NOT NULL THEN 'superseded' ELSE status END
                    AS name
                FROM facts WHERE agent_id = $1 AND tenant_id = $2
            ) AS f GROUP BY f.name ORDER BY f.name
            """
        )

    async def merges(self) -> int:
        return await self._number(
            "SELECT count(*) FROM fact_merges WHERE agent_id = $1 AND tenant_id = $2 AND undone_at IS NULL"
        )

    async def postings(self) -> int:
        return await self._number("SELECT count(*) FROM memory_terms WHERE agent_id = $1 AND tenant_id = $2")

    async def owed(self) -> tuple[int, dict[str, dict[str, int]]]:
        """To how many memories something is owed, and to how many by projection: tried or not, or given up."""
        rows = await self._driver.fetch(
            """
            SELECT p.projection, count(*) FILTER (WHERE p.attempts = 0) AS pending,
                count(*) FILTER (WHERE p.attempts > 0 AND j.id IS NULL) AS failed,
                count(*) FILTER (WHERE p.attempts > 0 AND j.id IS NOT NULL) AS dead
            FROM pending_projections p
            LEFT JOIN jobs j ON j.tenant_id = $2 AND j.agent_id = $1 AND j.id = p.job_id AND j.status = 'dead'
            WHERE p.agent_id = $1 AND p.tenant_id = $2
            GROUP BY p.projection ORDER BY p.projection
            """,
            *self._of_agent,
        )
        memories = await self._number(
            "SELECT count(DISTINCT memory_id) FROM pending_projections WHERE agent_id = $1 AND tenant_id = $2"
        )
        return memories, {
            row["projection"]: {name: row[name] for name in ("pending", "failed", "dead")} for row in rows
        }

    async def _by(self, statement: str) -> dict[str, int]:
        rows: list[Any] = await self._driver.fetch(statement, *self._of_agent)
        return {row["name"]: row["number"] for row in rows}

    async def _number(self, statement: str) -> int:
        number: int = await self._driver.fetchval(statement, *self._of_agent)
        return number
