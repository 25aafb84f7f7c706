"""SQL of facts whose ends are to be known as entities. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope


class FactNamingRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def unnamed(self, agent_id: UUID, after: UUID, most: int) -> list[dict[str, Any]]:
        """Facts that were appended of which an end is no entity, in the order of their ids: id, subject, object."""
        rows = await self._driver.fetch(
            """
            SELECT f.id, f.subject, f.object FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.id > $3 AND f.memory_id IS NULL
                AND (f.subject_entity IS NULL OR f.object_entity IS NULL)
            ORDER BY f.id LIMIT $4
            """,
            agent_id,
            self._tenant_id,
            after,
            most,
        )
        return [dict(row) for row in rows]

    async def name(self, agent_id: UUID, ends: Mapping[UUID, Sequence[UUID | None]]) -> None:
        """Write which entities are subject and object of facts, by id; null where one is none."""
        ids = sorted(ends)
        await self._driver.execute(
            """
            UPDATE facts f SET subject_entity = new.subject_entity, object_entity = new.object_entity
            FROM (
                SELECT held.id, n.subject_entity, n.object_entity
                FROM unnest($3::uuid[], $4::uuid[], $5::uuid[]) AS n (id, subject_entity, object_entity)
                JOIN facts held ON held.agent_id = $1 AND held.tenant_id = $2 AND held.id = n.id
                ORDER BY held.id FOR UPDATE OF held
            ) AS new
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.id = new.id
            """,
            agent_id,
            self._tenant_id,
            ids,
            [ends[id][0] for id in ids],
            [ends[id][1] for id in ids],
        )
