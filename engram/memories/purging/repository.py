"""SQL that erases a memory: its row, what finds it, what leads to it, what it was, and what was answered with it.

Scope: every statement names the tenant and the agent. The memory is locked by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope

_OF_MEMORY = {
    "mentions": "DELETE FROM mentions WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3",
    "versions": "DELETE FROM memory_versions WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3",
}


@dataclass(frozen=True, slots=True)
class Said:
    """A text, and what was declared with it."""

    content: str
    entities: list[dict[str, str]]
    relations: list[dict[str, Any]]
    quantities: list[dict[str, Any]]


class PurgeRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def texts(self, agent_id: UUID, id: UUID) -> list[Said]:
        """What a memory said and declared, now and before."""
        rows = await self._driver.fetch(
            """
            SELECT content, declared_entities, declared_relations, declared_quantities FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND id = $3
            UNION ALL
            SELECT content, declared_entities, declared_relations, declared_quantities FROM memory_versions
            WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        return [Said(*row) for row in rows]

    async def named_by_facts(self, agent_id: UUID, id: UUID) -> dict[str, set[str]]:
        """The spellings of what the facts name that the memory is a source of, by canonical name."""
        rows = await self._driver.fetch(
            """
            SELECT DISTINCT e.name, CASE WHEN e.id = f.subject_entity THEN f.subject ELSE f.object END AS spelling
            FROM fact_memories t
            JOIN facts f ON f.agent_id = $1 AND f.tenant_id = $2 AND f.id = t.fact_id
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id IN (f.subject_entity, f.object_entity)
            WHERE t.agent_id = $1 AND t.tenant_id = $2 AND t.memory_id = $3
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        found: dict[str, set[str]] = {}
        for row in rows:
            found.setdefault(row["name"], set()).add(" ".join(row["spelling"].split()))
        return found

    async def edges(self, agent_id: UUID, id: UUID) -> int:
        """Erase the memory's edges, and say how many there were. In the order of their keys, as they are written."""
        status: str = await self._driver.execute(
            """
            DELETE FROM edges WHERE ctid = ANY (ARRAY(
                SELECT e.ctid FROM edges e
                WHERE e.agent_id = $1 AND e.tenant_id = $2 AND (e.source_id = $3 OR e.target_id = $3)
                ORDER BY e.source_id, e.target_id, e.relation_type FOR UPDATE
            ))
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        return _rows(status)

    async def edge_versions(self, agent_id: UUID, id: UUID) -> int:
        """Erase what the memory's edges were, after its row: then nobody writes more of it."""
        status: str = await self._driver.execute(
            """
            DELETE FROM edge_versions
            WHERE agent_id = $1 AND tenant_id = $2 AND (source_id = $3 OR target_id = $3)
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        return _rows(status)

    async def of_memory(self, agent_id: UUID, id: UUID) -> dict[str, int]:
        """Erase what belongs to the memory alone, by the names of the receipt."""
        await self._driver.execute(
            "DELETE FROM pending_projections WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3",
            agent_id,
            self._tenant_id,
            id,
        )
        return {
            name: _rows(await self._driver.execute(statement, agent_id, self._tenant_id, id))
            for name, statement in _OF_MEMORY.items()
        }

    async def passages(self, agent_id: UUID, id: UUID) -> int:
        return await self._count("memory_passages", agent_id, id)

    async def terms(self, agent_id: UUID, id: UUID) -> int:
        return await self._count("memory_terms", agent_id, id)

    async def _count(self, table: str, agent_id: UUID, id: UUID) -> int:
        count: int = await self._driver.fetchval(
            f"SELECT count(*) FROM {table} WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3",
            agent_id,
            self._tenant_id,
            id,
        )
        return count

    async def row(self, agent_id: UUID, id: UUID, slot_hash: bytes | None, superseded_by: UUID | None) -> None:
        """Erase the row. What it superseded is superseded by what superseded it, if anything did; a slot without
        values goes too."""
        if superseded_by is not None:
            await self._driver.execute(
                """
                UPDATE memories SET superseded_by = $4 FROM (
                    SELECT o.id FROM memories o
                    WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.superseded_by = $3 ORDER BY o.id FOR NO KEY UPDATE
                ) AS older
                WHERE memories.agent_id = $1 AND memories.tenant_id = $2 AND memories.id = older.id
                """,
                agent_id,
                self._tenant_id,
                id,
                superseded_by,
            )
        await self._driver.execute(
            "DELETE FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND id = $3", agent_id, self._tenant_id, id
        )
        if slot_hash is not None:
            await self._driver.execute(
                """
                DELETE FROM memory_slots s
                WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.slot_hash = $3 AND NOT EXISTS (
                    SELECT FROM memories m WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.slot_hash = $3
                )
                """,
                agent_id,
                self._tenant_id,
                slot_hash,
            )

    async def answers(self, agent_id: UUID, id: UUID) -> int:
        """Erase the answers that are kept for repeated requests and name the memory."""
        status: str = await self._driver.execute(
            """
            DELETE FROM idempotency_keys
            WHERE tenant_id = $2 AND agent_id = $1 AND position(convert_to($3, 'UTF8') IN body) > 0
            """,
            agent_id,
            self._tenant_id,
            str(id),
        )
        return _rows(status)

    async def names(self, agent_id: UUID, names: Sequence[str], spellings: Sequence[str]) -> set[UUID]:
        """Erase the entities among these that no memory or fact names any more, and of others the spellings that none
        of their memories declares; the entities that were erased."""
        erased = await self._driver.fetch(
            """
            DELETE FROM entities WHERE ctid = ANY (ARRAY(
                SELECT e.ctid FROM entities e
                WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.name = ANY ($3::text[]) AND NOT EXISTS (
                    SELECT FROM mentions o WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.entity_id = e.id
                ) AND NOT EXISTS (
                    SELECT FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.subject_entity = e.id
                ) AND NOT EXISTS (
                    SELECT FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.object_entity = e.id
                ) AND NOT EXISTS (
                    SELECT FROM derived_facts d WHERE d.agent_id = $1 AND d.tenant_id = $2 AND d.entity_id = e.id
                )
                ORDER BY e.name FOR UPDATE
            ))
            RETURNING id
            """,
            agent_id,
            self._tenant_id,
            list(names),
        )
        await self._driver.execute(
            """
            DELETE FROM entity_aliases a
            USING entities e
            WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.name = ANY ($3::text[])
                AND a.agent_id = $1 AND a.tenant_id = $2 AND a.entity_id = e.id AND a.alias = ANY ($4::text[])
                AND NOT EXISTS (
                    SELECT FROM mentions o
                    JOIN memories m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = o.memory_id
                    WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.entity_id = e.id
                        AND m.declared_entities @> jsonb_build_array(jsonb_build_object('name', a.alias))
                )
                AND NOT EXISTS (
                    SELECT FROM facts f
                    WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.subject_entity = e.id AND f.subject = a.alias
                )
                AND NOT EXISTS (
                    SELECT FROM facts f
                    WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.object_entity = e.id AND f.object = a.alias
                )
                AND NOT EXISTS (
                    SELECT FROM derived_facts d
                    JOIN memories m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = d.memory_id
                    WHERE d.agent_id = $1 AND d.tenant_id = $2 AND d.entity_id = e.id
                        AND m.declared_quantities @> jsonb_build_array(jsonb_build_object('entity', a.alias))
                )
            """,
            agent_id,
            self._tenant_id,
            list(names),
            list(spellings),
        )
        await self._driver.execute(
            """
            UPDATE entities e SET display_name = coalesce(
                (SELECT min(a.alias) FROM entity_aliases a
                 WHERE a.agent_id = $1 AND a.tenant_id = $2 AND a.entity_id = e.id),
                e.name
            )
            WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.name = ANY ($3::text[]) AND NOT EXISTS (
                SELECT FROM entity_aliases a
                WHERE a.agent_id = $1 AND a.tenant_id = $2 AND a.entity_id = e.id AND a.alias = e.display_name
            )
            """,
            agent_id,
            self._tenant_id,
            list(names),
        )
        return {row["id"] for row in erased}


class ExpiredMemories:
    """What a worker erases for all tenants: found in one statement, a transaction by itself."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def find(self, deleted_before: datetime, most: int) -> list[tuple[UUID, UUID, UUID]]:
        """Tenant, agent and id of memories that were deleted by then, the first deleted first."""
        rows = await self._driver.fetch("SELECT * FROM engram_expired_memories($1, $2)", deleted_before, most)
        return [(row["tenant_id"], row["agent_id"], row["memory_id"]) for row in rows]


def _rows(status: str) -> int:
    return int(status.rsplit(maxsplit=1)[-1])
