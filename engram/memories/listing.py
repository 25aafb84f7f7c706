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
        await self._plan_for(visibility)
        p = Parameters()
        bound, before = f"{p(limit, 'int')} + 1", ""
        if after is not None:
            before = f" AND m.id < {p(after, 'uuid')}"
        parts = [
            f"SELECT {WIRE_COLUMNS} FROM {seen}{before} ORDER BY m.id DESC LIMIT {bound}"
            for seen in self._halves(agent_id, visibility, p)
        ]
        rows = await self._driver.fetch(
            portion(
                f"SELECT * FROM (({') UNION ALL ('.join(parts)})) AS halves ORDER BY id DESC LIMIT {bound}",
                columns=WIRE_COLUMNS,
                size=WIRE_BYTES,
                order="id DESC",
                limit=p(limit, "int"),
            ),
            *p.values,
        )
        return shown(rows)

    async def total(self, agent_id: UUID, visibility: Visibility) -> int:
        await self._plan_for(visibility)
        p = Parameters()
        counts = [f"(SELECT count(*) FROM {seen})" for seen in self._halves(agent_id, visibility, p)]
        total: int = await self._driver.fetchval(f"SELECT {' + '.join(counts)}", *p.values)
        return total

    async def ids(self, agent_id: UUID, visibility: Visibility, *, limit: int) -> list[UUID]:
        """At most ``limit`` of those that stand, the first to arrive first."""
        assert visibility.known_at is None, "what was known may stand no more"
        await self._plan_for(visibility)
        p = Parameters()
        (seen,) = self._halves(agent_id, visibility, p)
        rows = await self._driver.fetch(f"SELECT m.id FROM {seen} ORDER BY m.id LIMIT {p(limit, 'int')}", *p.values)
        return [row["id"] for row in rows]

    async def _plan_for(self, visibility: Visibility) -> None:
        """Have statements planned for their values, until the transaction ends, where that pays."""
        if visibility.selective:
            await self._driver.execute("SET LOCAL plan_cache_mode = force_custom_plan")

    def _halves(self, agent_id: UUID, visibility: Visibility, p: Parameters) -> list[str]:
        """What is seen, in parts that are ordered and cut off one by one, each through an index: of both together all
        would be sorted."""
        mine = f"m.agent_id = {p(agent_id, 'uuid')} AND m.tenant_id = {p(self._tenant_id, 'uuid')}"
        if visibility.selective:
            # True of every memory, and what makes the indexes by time known.
            mine += " AND m.confidence >= 0"
        return [f"{half} m WHERE {mine} AND {visibility.sql('m', p)}" for half in visibility.halves(p)]
