"""SQL that adds sums up anew. Scope: every statement names the tenant and the agent.

A sum is locked by one statement and added up by the next, which sees what those had observed who counted before. Who
has observed and not counted yet is not seen, and counts on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.entities.occurring.repository import Pair
from engram.tenants.scope import Scope


class OccurrenceSums:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def lock_memories(self, agent_id: UUID, after: UUID, limit: int) -> list[UUID]:
        """The next memories of an agent, of whatever status, locked in the order of their ids."""
        rows = await self._driver.fetch(
            """
            SELECT id FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND id > $3
            ORDER BY id LIMIT $4 FOR NO KEY UPDATE
            """,
            agent_id,
            self._tenant_id,
            after,
            limit,
        )
        return [row["id"] for row in rows]

    async def next_pairs(self, agent_id: UUID, after: Pair, limit: int) -> list[Pair]:
        """The next pairs that are observed, or have a sum."""
        rows = await self._driver.fetch(
            """
            SELECT known.first_id, known.second_id FROM (
                (
                    SELECT DISTINCT o.first_id, o.second_id FROM co_occurrences o
                    WHERE o.agent_id = $1 AND o.tenant_id = $2 AND (o.first_id, o.second_id) > ($3, $4)
                    ORDER BY o.first_id, o.second_id LIMIT $5
                )
                UNION
                (
                    SELECT p.first_id, p.second_id FROM entity_pairs p
                    WHERE p.agent_id = $1 AND p.tenant_id = $2 AND (p.first_id, p.second_id) > ($3, $4)
                    ORDER BY p.first_id, p.second_id LIMIT $5
                )
            ) AS known
            ORDER BY known.first_id, known.second_id LIMIT $5
            """,
            agent_id,
            self._tenant_id,
            *after,
            limit,
        )
        return [(row["first_id"], row["second_id"]) for row in rows]

    async def add_up_pairs(self, agent_id: UUID, pairs: Sequence[Pair]) -> None:
        """Make the sums of these pairs what is observed. They are in the order of their keys."""
        values = (agent_id, self._tenant_id, [first for first, _ in pairs], [second for _, second in pairs])
        await self._driver.execute(
            """
            INSERT INTO entity_pairs AS pair (agent_id, tenant_id, first_id, second_id, co_occur)
            SELECT $1, $2, asked.first_id, asked.second_id, 0
            FROM unnest($3::uuid[], $4::uuid[]) AS asked (first_id, second_id)
            ORDER BY asked.first_id, asked.second_id
            ON CONFLICT (agent_id, first_id, second_id) DO UPDATE SET co_occur = pair.co_occur
            """,
            *values,
        )
        await self._driver.execute(
            """
            UPDATE entity_pairs pair SET co_occur = counted.co_occur
            FROM (
                SELECT asked.first_id, asked.second_id, (
                    SELECT count(*) FROM co_occurrences o
                    WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.first_id = asked.first_id
                        AND o.second_id = asked.second_id AND o.state = 'steady'
                ) AS co_occur
                FROM unnest($3::uuid[], $4::uuid[]) AS asked (first_id, second_id)
            ) AS counted
            WHERE pair.agent_id = $1 AND pair.tenant_id = $2 AND pair.first_id = counted.first_id
                AND pair.second_id = counted.second_id AND pair.co_occur <> counted.co_occur
            """,
            *values,
        )
        await self._driver.execute(
            """
            DELETE FROM entity_pairs pair USING unnest($3::uuid[], $4::uuid[]) AS asked (first_id, second_id)
            WHERE pair.agent_id = $1 AND pair.tenant_id = $2 AND pair.first_id = asked.first_id
                AND pair.second_id = asked.second_id AND pair.co_occur = 0
            """,
            *values,
        )

    async def next_entities(self, agent_id: UUID, after: UUID, limit: int) -> list[UUID]:
        rows = await self._driver.fetch(
            "SELECT id FROM entities WHERE agent_id = $1 AND tenant_id = $2 AND id > $3 ORDER BY id LIMIT $4",
            agent_id,
            self._tenant_id,
            after,
            limit,
        )
        return [row["id"] for row in rows]

    async def add_up_degrees(self, agent_id: UUID, ids: Sequence[UUID]) -> None:
        """Make the degrees of these entities what their pairs add up to. They are in the order of their ids."""
        values = (agent_id, self._tenant_id, list(ids))
        await self._driver.execute(
            """
            INSERT INTO entity_degrees AS known (agent_id, tenant_id, entity_id, degree)
            SELECT $1, $2, asked.id, 0 FROM unnest($3::uuid[]) AS asked (id) ORDER BY asked.id
            ON CONFLICT (agent_id, entity_id) DO UPDATE SET degree = known.degree
            """,
            *values,
        )
        await self._driver.execute(
            """
            UPDATE entity_degrees known SET degree = counted.degree
            FROM (
                SELECT asked.id, coalesce((
                    SELECT sum(p.co_occur) FROM entity_pairs p
                    WHERE p.agent_id = $1 AND p.tenant_id = $2 AND p.first_id = asked.id
                ), 0) + coalesce((
                    SELECT sum(p.co_occur) FROM entity_pairs p
                    WHERE p.agent_id = $1 AND p.tenant_id = $2 AND p.second_id = asked.id
                ), 0) AS degree
                FROM unnest($3::uuid[]) AS asked (id)
            ) AS counted
            WHERE known.agent_id = $1 AND known.tenant_id = $2 AND known.entity_id = counted.id
                AND known.degree <> counted.degree
            """,
            *values,
        )
        await self._driver.execute(
            """
            DELETE FROM entity_degrees known
            WHERE known.agent_id = $1 AND known.tenant_id = $2 AND known.entity_id = ANY ($3::uuid[])
                AND known.degree = 0
            """,
            *values,
        )
