"""SQL of communities. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope

MAX_PAIRS = 4_000_000
"""Of an agent that are read. Where there are more, those that occur seldom are left out, all of one number at once."""

CHUNK = 2_000
"""Rows that are read or written at once."""

_NUMBERED = """
    SELECT d.entity_id AS id, row_number() OVER (ORDER BY e.name COLLATE "C") - 1 AS number
    FROM entity_degrees d
    JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = d.entity_id
    WHERE d.agent_id = $1 AND d.tenant_id = $2
"""
"""Entities by their names, so that a copy of an agent, which has other ids, is put together in the same way."""

MAX_FELLOWS = 1000
"""Members of communities of which those that occur most are looked for."""


class CommunityRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> None:
        self._driver = driver(connection)
        self._of_agent = (agent_id, scope.tenant_id)

    async def entities(self) -> AsyncIterator[list[UUID]]:
        """Ids of the entities that occur with others, in the order of their names."""
        statement = f"SELECT numbered.id FROM ({_NUMBERED}) AS numbered ORDER BY numbered.number"
        async for rows in self._chunks(statement):
            yield [row["id"] for row in rows]

    async def pairs(self, least: int) -> AsyncIterator[NDArray[np.int64]]:
        """Pairs that occur so often: the places of their ends in ``entities`` of the same snapshot, and how often."""
        statement = f"""
            WITH numbered AS MATERIALIZED ({_NUMBERED})
            SELECT a.number AS first, b.number AS second, pair.co_occur FROM entity_pairs pair
            JOIN numbered a ON a.id = pair.first_id
            JOIN numbered b ON b.id = pair.second_id
            WHERE pair.agent_id = $1 AND pair.tenant_id = $2 AND pair.co_occur >= $3
        """
        async for rows in self._chunks(statement, least):
            numbers = np.fromiter((number for row in rows for number in row), np.int64, 3 * len(rows))
            yield numbers.reshape(-1, 3)

    async def least(self) -> int:
        """How often a pair occurs at least, so that no more than ``MAX_PAIRS`` do."""
        rows = await self._driver.fetch(
            """
            SELECT counted.co_occur, counted.pairs FROM (
                SELECT pair.co_occur, sum(count(*)) OVER (ORDER BY pair.co_occur DESC) AS pairs
                FROM entity_pairs pair WHERE pair.agent_id = $1 AND pair.tenant_id = $2 GROUP BY pair.co_occur
            ) AS counted WHERE counted.pairs > $3 ORDER BY counted.co_occur DESC LIMIT 1
            """,
            *self._of_agent,
            MAX_PAIRS,
        )
        return int(rows[0]["co_occur"]) + 1 if rows else 1

    async def clear(self) -> None:
        await self._driver.execute(
            "DELETE FROM entity_communities c WHERE c.agent_id = $1 AND c.tenant_id = $2", *self._of_agent
        )

    async def add(self, level: int, rows: Sequence[tuple[str, str]]) -> None:
        """Ids of entities and of the strongest members of their communities, in hexadecimal digits, but for those that
        are gone meanwhile."""
        await self._driver.execute(
            """
            INSERT INTO entity_communities (agent_id, tenant_id, entity_id, level, community_id)
            SELECT $1, $2, new.entity_id, $5, new.community_id
            FROM unnest($3::uuid[], $4::uuid[]) AS new (entity_id, community_id)
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = new.entity_id
            JOIN entities strongest ON strongest.agent_id = $1 AND strongest.tenant_id = $2
                AND strongest.id = new.community_id
            ORDER BY new.entity_id
            """,
            *self._of_agent,
            [entity for entity, _ in rows],
            [community for _, community in rows],
            level,
        )

    async def note(self, computed_at: datetime, *, entities: int, dropped: int, levels: int) -> None:
        await self._driver.execute(
            """
            INSERT INTO entity_community_runs (agent_id, tenant_id, computed_at, entities, dropped, levels)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (agent_id) DO UPDATE SET computed_at = excluded.computed_at, entities = excluded.entities,
                dropped = excluded.dropped, levels = excluded.levels
            """,
            *self._of_agent,
            computed_at,
            entities,
            dropped,
            levels,
        )

    async def run(self) -> dict[str, Any] | None:
        """What the communities that there are were computed of."""
        row = await self._driver.fetchrow(
            """
            SELECT r.computed_at, r.entities, r.dropped, r.levels FROM entity_community_runs r
            WHERE r.agent_id = $1 AND r.tenant_id = $2
            """,
            *self._of_agent,
        )
        return dict(row) if row else None

    async def largest(self, level: int, *, limit: int, members: int) -> list[dict[str, Any]]:
        """Communities of a level, the largest first, then by name, each with the names of so many of its members, those
        that occur most first."""
        rows = await self._driver.fetch(
            """
            WITH largest AS MATERIALIZED (
                SELECT c.community_id, e.name, e.display_name, count(*) AS entities
                FROM entity_communities c
                JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = c.community_id
                WHERE c.agent_id = $1 AND c.tenant_id = $2 AND c.level = $3
                GROUP BY c.community_id, e.name, e.display_name
                ORDER BY count(*) DESC, e.name COLLATE "C" LIMIT $4
            )
            SELECT l.name, l.display_name, l.entities, ARRAY(
                SELECT m.name FROM entity_communities c
                JOIN entities m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = c.entity_id
                LEFT JOIN entity_degrees d ON d.agent_id = $1 AND d.tenant_id = $2 AND d.entity_id = c.entity_id
                WHERE c.agent_id = $1 AND c.tenant_id = $2 AND c.level = $3 AND c.community_id = l.community_id
                ORDER BY coalesce(d.degree, 0) DESC, m.name COLLATE "C" LIMIT $5
            ) AS members
            FROM largest l ORDER BY l.entities DESC, l.name COLLATE "C"
            """,
            *self._of_agent,
            level,
            limit,
            members,
        )
        return [dict(row) for row in rows]

    async def fellows(self, entity_ids: Sequence[UUID], limit: int) -> list[dict[str, Any]]:
        """Others of the same communities of level 0: id, name, display_name. Of the ``MAX_FELLOWS`` that are known
        longest those that occur most."""
        rows = await self._driver.fetch(
            """
            SELECT e.id, e.name, e.display_name
            FROM (
                SELECT c.entity_id FROM entity_communities c
                WHERE c.agent_id = $1 AND c.tenant_id = $2 AND c.level = 0 AND c.community_id IN (
                    SELECT own.community_id FROM entity_communities own
                    WHERE own.agent_id = $1 AND own.tenant_id = $2 AND own.level = 0
                        AND own.entity_id = ANY ($3::uuid[])
                ) AND c.entity_id <> ALL ($3::uuid[])
                ORDER BY c.community_id, c.entity_id LIMIT $4
            ) AS fellow
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = fellow.entity_id
            LEFT JOIN entity_degrees d ON d.agent_id = $1 AND d.tenant_id = $2 AND d.entity_id = fellow.entity_id
            ORDER BY coalesce(d.degree, 0) DESC, e.name COLLATE "C" LIMIT $5
            """,
            *self._of_agent,
            list(entity_ids),
            MAX_FELLOWS,
            limit,
        )
        return [dict(row) for row in rows]

    async def _chunks(self, statement: str, *values: Any) -> AsyncIterator[list[Any]]:
        cursor = await self._driver.cursor(statement, *self._of_agent, *values)
        while rows := await cursor.fetch(CHUNK):
            yield rows
