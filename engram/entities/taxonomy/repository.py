"""SQL of an agent's taxonomy. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.entities.graph.walk import Entity
from engram.tenants.scope import Scope


class TaxonomyRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def top(self, agent_id: UUID, without: Sequence[UUID], limit: int) -> list[dict[str, Any]]:
        """The entities of the highest degrees, but for some: id, name, display_name, degree; then, where they are
        fewer than ``limit``, those that occur with nothing, by name."""
        values = (agent_id, self._tenant_id, list(without), limit)
        rows = await self._driver.fetch(
            """
            SELECT e.id, e.name, e.display_name, d.degree
            FROM (
                SELECT d.entity_id, d.degree FROM entity_degrees d
                WHERE d.agent_id = $1 AND d.tenant_id = $2 AND d.entity_id <> ALL ($3::uuid[])
                ORDER BY d.degree DESC, d.entity_id LIMIT $4
            ) AS d
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = d.entity_id
            ORDER BY d.degree DESC, e.id
            """,
            *values,
        )
        if len(rows) < limit:
            # Those of some degree are few then, and passing over them costs no more than what is shown.
            rows += await self._driver.fetch(
                """
                SELECT e.id, e.name, e.display_name, 0 AS degree FROM entities e
                WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.id <> ALL ($3::uuid[])
                ORDER BY e.name LIMIT $4
                """,
                *values[:2],
                [*without, *(row["id"] for row in rows)],
                limit - len(rows),
            )
        return [dict(row) for row in rows]

    async def degrees(self, agent_id: UUID, ids: Sequence[UUID]) -> dict[UUID, int]:
        """Of those of these entities that occur with others."""
        rows = await self._driver.fetch(
            """
            SELECT d.entity_id, d.degree FROM entity_degrees d
            WHERE d.agent_id = $1 AND d.tenant_id = $2 AND d.entity_id = ANY ($3::uuid[])
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        return {row["entity_id"]: row["degree"] for row in rows}

    async def memories(self, agent_id: UUID, entities: Sequence[Entity]) -> dict[UUID, int]:
        """How many memories name each of these, by its id; a memory that names several of a node counts once."""
        alone = [entity for entity in entities if len(entity.ids) == 1]
        merged = [entity for entity in entities if len(entity.ids) > 1]
        return await self._counts(agent_id, alone, "*") | await self._counts(
            agent_id, merged, "DISTINCT named.memory_id"
        )

    async def _counts(self, agent_id: UUID, entities: Sequence[Entity], what: str) -> dict[UUID, int]:
        if not entities:
            return {}
        # OFFSET keeps the planner from reading all mentions of the agent for those of a few entities.
        rows = await self._driver.fetch(
            f"""
            SELECT asked.node, count({what}) AS memories
            FROM unnest($3::uuid[], $4::uuid[]) AS asked (node, id)
            CROSS JOIN LATERAL (
                SELECT n.memory_id FROM mentions n
                WHERE n.agent_id = $1 AND n.tenant_id = $2 AND n.entity_id = asked.id OFFSET 0
            ) AS named
            GROUP BY asked.node
            """,
            agent_id,
            self._tenant_id,
            [entity.id for entity in entities for _ in entity.ids],
            [id for entity in entities for id in entity.ids],
        )
        found = {row["node"]: row["memories"] for row in rows}
        return {entity.id: found.get(entity.id, 0) for entity in entities}
