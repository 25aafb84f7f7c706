"""SQL that finds memories by what they are, not by what is asked: pages, counts, ids.

Scope: every statement names the agent, whose tenant was checked, and the tenant.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.db.portions import portion, shown
from engram.memories.models import WIRE_BYTES, WIRE_COLUMNS
from engram.memories.predicates import Visibility
from engram.tenants.scope import Scope


class ListingRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def page(
        self, agent_id: UUID, visibility: Visibility, *, limit: int, after: UUID | None
    ) -> tuple[list[dict[str, Any]], bool]:
        """Memories, the latest to arrive first: a portion of at most ``limit``, and whether there are more."""
        p = Parameters()
        seen = self._seen(agent_id, visibility, p)
        if after is not None:
            seen += f" AND m.id < {p(after, 'uuid')}"
        rows = await self._driver.fetch(
            portion(
                f"SELECT {WIRE_COLUMNS} FROM {seen} ORDER BY m.id DESC LIMIT {p(limit, 'int')} + 1",
                columns=WIRE_COLUMNS,
                size=WIRE_BYTES,
                order="id DESC",
                limit=p(limit, "int"),
            ),
            *p.values,
        )
        return shown(rows)

    async def total(self, agent_id: UUID, visibility: Visibility) -> int:
        p = Parameters()
        total: int = await self._driver.fetchval(
            f"SELECT count(*) FROM {self._seen(agent_id, visibility, p)}", *p.values
        )
        return total

    async def ids(self, agent_id: UUID, visibility: Visibility, *, limit: int) -> list[UUID]:
        """At most ``limit`` of them, the first to arrive first."""
        p = Parameters()
        seen = self._seen(agent_id, visibility, p)
        rows = await self._driver.fetch(f"SELECT m.id FROM {seen} ORDER BY m.id LIMIT {p(limit, 'int')}", *p.values)
        return [row["id"] for row in rows]

    def _seen(self, agent_id: UUID, visibility: Visibility, p: Parameters) -> str:
        mine = f"m.agent_id = {p(agent_id, 'uuid')} AND m.tenant_id = {p(self._tenant_id, 'uuid')}"
        return f"{visibility.memories(p)} m WHERE {mine} AND {visibility.sql('m', p)}"
