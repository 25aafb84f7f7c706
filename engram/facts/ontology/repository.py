"""SQL of ontologies. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope


class OntologyRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def get(self, agent_id: UUID) -> dict[str, Any] | None:
        row = await self._driver.fetchrow(
            """
            SELECT entity_types, verbs, attributes, updated_at FROM ontologies WHERE agent_id = $1 AND tenant_id = $2
            """,
            agent_id,
            self._tenant_id,
        )
        return dict(row) if row else None

    async def put(
        self,
        agent_id: UUID,
        *,
        entity_types: list[str],
        verbs: dict[str, str],
        attributes: dict[str, str],
        now: datetime,
    ) -> None:
        await self._driver.execute(
            """
            INSERT INTO ontologies (agent_id, tenant_id, entity_types, verbs, attributes, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (agent_id) DO UPDATE SET entity_types = excluded.entity_types, verbs = excluded.verbs,
                attributes = excluded.attributes, updated_at = excluded.updated_at
            """,
            agent_id,
            self._tenant_id,
            json.dumps(entity_types),
            json.dumps(verbs),
            json.dumps(attributes),
            now,
        )
