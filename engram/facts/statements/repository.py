"""SQL of statements. Scope: every statement names the tenant and the agent.

Whoever changes statements locks their slots first, in the order of their keys, and after the memories they follow from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.moments import aware
from engram.facts.keys import node_key
from engram.facts.names import node_name
from engram.facts.statements.provenance import MAX_TEXT_CHARS
from engram.facts.statements.rows import Statement, statement_of
from engram.facts.statements.stating import Stating, Wanted
from engram.tenants.scope import Scope

_COLUMNS = (
    "f.id, f.memory_id, f.slot, f.ordinal, f.predicate, f.adapter_name, f.subject_entity, f.object_entity,"
    " f.confidence, f.provenance, f.valid_from, f.valid_until, f.stated_until, f.arrived_at, f.since, f.held_until,"
    " f.updated_at, f.status, f.closed_by, f.superseded_by, s.name AS subject_name, o.name AS object_name"
)
_NAMED = """
    JOIN entities s ON s.agent_id = $1 AND s.tenant_id = $2 AND s.id = f.subject_entity
    JOIN entities o ON o.agent_id = $1 AND o.tenant_id = $2 AND o.id = f.object_entity
"""


@dataclass(frozen=True, slots=True)
class NewStatement:
    """What a memory says, and the row that it gets."""

    said: Wanted
    row: Statement
    subject_entity: UUID


class StatementRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def memories(self, agent_id: UUID, ids: Collection[UUID]) -> list[Stating]:
        """Those of these memories from which statements follow, or did, by id."""
        rows = await self._driver.fetch(
            f"""
            SELECT m.id, m.status, m.user_id, m.valid_from,
                CASE WHEN m.withheld THEN '[]'::jsonb ELSE m.declared_relations END AS relations, m.stated_until,
                m.recorded_at, m.stated_at, CASE WHEN m.status = 'superseded' THEN m.valid_until END AS superseded_at,
                CASE WHEN m.declared_relations <> '[]' AND m.sensitivity = 'normal'
                    THEN left(m.content, {MAX_TEXT_CHARS:d}) ELSE '' END AS content
            FROM memories m
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = ANY ($3::uuid[]) AND (
                m.declared_relations <> '[]' OR EXISTS (
                    SELECT FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id = m.id
                )
            )
            ORDER BY m.id
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        moments = ("valid_from", "stated_until", "superseded_at")
        return [Stating(**{**row, **{name: aware(row[name]) for name in moments}}) for row in rows]

    async def state(self, agent_id: UUID, at: Mapping[UUID, datetime]) -> None:
        """Note when memories that are locked, and declare relations, were restored or said again."""
        ids = sorted(at)
        await self._driver.execute(
            """
            UPDATE memories m SET stated_at = new.stated_at
            FROM unnest($3::uuid[], $4::timestamptz[]) AS new (id, stated_at)
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = new.id AND m.declared_relations <> '[]'
            """,
            agent_id,
            self._tenant_id,
            ids,
            [at[id] for id in ids],
        )

    async def stating(self, agent_id: UUID, *, after: UUID | None, most: int) -> list[UUID]:
        """Ids of memories that declare relations or numbers and are not deleted, in order; at most so many."""
        rows = await self._driver.fetch(
            """
            SELECT m.id FROM memories m
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND ($3::uuid IS NULL OR m.id > $3)
                AND (m.declared_relations <> '[]' OR m.declared_quantities <> '[]') AND m.status <> 'deleted'
            ORDER BY m.id LIMIT $4
            """,
            agent_id,
            self._tenant_id,
            after,
            most,
        )
        return [row["id"] for row in rows]

    async def of_memories(self, agent_id: UUID, ids: Collection[UUID]) -> list[Statement]:
        """All statements of these memories, in any state."""
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS} FROM facts f {_NAMED}
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id = ANY ($3::uuid[])
            ORDER BY f.id
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        return [statement_of(dict(row)) for row in rows]

    async def by_ids(self, agent_id: UUID, ids: Collection[UUID]) -> list[Statement]:
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS} FROM facts f {_NAMED}
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.id = ANY ($3::uuid[]) AND f.memory_id IS NOT NULL
            ORDER BY f.id
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        return [statement_of(dict(row)) for row in rows]

    async def slots_of(self, agent_id: UUID, memory_ids: Collection[UUID]) -> set[UUID]:
        rows = await self._driver.fetch(
            """
            SELECT DISTINCT f.slot FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id = ANY ($3::uuid[])
            """,
            agent_id,
            self._tenant_id,
            list(memory_ids),
        )
        return {row["slot"] for row in rows}

    async def unended(self, agent_id: UUID, days: Mapping[UUID, datetime]) -> list[Statement]:
        """Statements of each slot that stand, and end at the given moment or later."""
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS}
            FROM unnest($3::uuid[], $4::timestamptz[]) AS asked (slot, day)
            JOIN facts f ON f.agent_id = $1 AND f.tenant_id = $2 AND f.slot = asked.slot
                AND coalesce(f.valid_until, 'infinity'::timestamptz) >= asked.day
            {_NAMED}
            WHERE f.memory_id IS NOT NULL AND f.status = 'standing'
            """,
            agent_id,
            self._tenant_id,
            list(days),
            list(days.values()),
        )
        return [statement_of(dict(row)) for row in rows]

    async def relations(self, agent_id: UUID) -> list[str]:
        """Relations of which there are statements."""
        rows = await self._driver.fetch(
            """
            SELECT DISTINCT predicate FROM facts
            WHERE agent_id = $1 AND tenant_id = $2 AND memory_id IS NOT NULL ORDER BY predicate
            """,
            agent_id,
            self._tenant_id,
        )
        return [row["predicate"] for row in rows]

    async def slots_with(
        self, agent_id: UUID, predicates: Sequence[str], *, after: UUID | None, most: int
    ) -> dict[UUID, datetime]:
        """Slots with statements of these relations, in the order of their keys, each with when the first starts."""
        rows = await self._driver.fetch(
            """
            SELECT f.slot, min(f.valid_from) AS first FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id IS NOT NULL AND f.predicate = ANY ($3::text[])
                AND ($4::uuid IS NULL OR f.slot > $4)
            GROUP BY f.slot ORDER BY f.slot LIMIT $5
            """,
            agent_id,
            self._tenant_id,
            list(predicates),
            after,
            most,
        )
        return {row["slot"]: aware(row["first"]) for row in rows}

    async def memories_with(
        self, agent_id: UUID, predicates: Sequence[str], *, after: UUID | None, most: int
    ) -> list[UUID]:
        """Memories with statements of these relations, in the order of their ids."""
        rows = await self._driver.fetch(
            """
            SELECT DISTINCT f.memory_id FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id IS NOT NULL AND f.predicate = ANY ($3::text[])
                AND ($4::uuid IS NULL OR f.memory_id > $4)
            ORDER BY f.memory_id LIMIT $5
            """,
            agent_id,
            self._tenant_id,
            list(predicates),
            after,
            most,
        )
        return [row["memory_id"] for row in rows]

    async def by_adapter(
        self, agent_id: UUID, adapter_name: str, max_confidence: float | None, *, after: UUID | None, most: int
    ) -> list[UUID]:
        """Ids of statements of one extractor that stand, of at most this confidence, in order."""
        rows = await self._driver.fetch(
            """
            SELECT f.id FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id IS NOT NULL AND f.adapter_name = $3
                AND f.status = 'standing' AND ($4::float8 IS NULL OR f.confidence <= $4)
                AND ($5::uuid IS NULL OR f.id > $5)
            ORDER BY f.id LIMIT $6
            """,
            agent_id,
            self._tenant_id,
            adapter_name,
            max_confidence,
            after,
            most,
        )
        return [row["id"] for row in rows]

    async def insert(self, agent_id: UUID, new: Sequence[NewStatement], now: datetime) -> None:
        """Write statements, learnt now; ordered by id."""
        new = sorted(new, key=lambda statement: statement.row.id.int)
        said = [statement.said for statement in new]
        rows = [statement.row for statement in new]
        await self._driver.execute(
            """
            INSERT INTO facts (
                agent_id, tenant_id, recorded_at, updated_at, supersede, id, slot, memory_id, ordinal, user_id, subject,
                predicate, object, subject_node, object_node, subject_entity, object_entity, confidence, adapter_name,
                provenance, valid_from, valid_until, stated_until, arrived_at, since, held_until, closed_by,
                superseded_by, sources
            )
            SELECT $1, $2, $3, $3, false, new.*, ARRAY[new.memory_id::text]
            FROM unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::int[], $8::text[], $9::text[], $10::text[],
                $11::text[], $12::uuid[], $13::uuid[], $14::uuid[], $15::uuid[], $16::float8[], $17::text[],
                $18::text[], $19::timestamptz[], $20::timestamptz[], $21::timestamptz[], $22::timestamptz[],
                $23::timestamptz[], $24::timestamptz[], $25::text[], $26::uuid[]) AS new (
                    id, slot, memory_id, ordinal, user_id, subject, predicate, object, subject_node, object_node,
                    subject_entity, object_entity, confidence, adapter_name, provenance, valid_from, valid_until,
                    stated_until, arrived_at, since, held_until, closed_by, superseded_by
                )
            ORDER BY new.id
            """,
            agent_id,
            self._tenant_id,
            now,
            [row.id for row in rows],
            [row.slot for row in rows],
            [row.memory_id for row in rows],
            [row.ordinal for row in rows],
            [each.user_id for each in said],
            [each.subject for each in said],
            [each.predicate for each in said],
            [each.object for each in said],
            [node_key(each.user_id, node_name(each.subject)) for each in said],
            [node_key(each.user_id, node_name(each.object)) for each in said],
            [statement.subject_entity for statement in new],
            [row.object_entity for row in rows],
            [row.confidence for row in rows],
            [each.adapter_name for each in said],
            [each.provenance.value for each in said],
            [row.valid_from for row in rows],
            [row.end.until for row in rows],
            [row.stated_until for row in rows],
            [row.arrived_at for row in rows],
            [row.since for row in rows],
            [row.held_until for row in rows],
            [row.end.policy.value if row.end.policy is not None else None for row in rows],
            [row.end.superseded_by for row in rows],
        )
        ties = sorted((row.memory_id.int, row.id.int, row.memory_id, row.id) for row in rows)
        await self._driver.execute(
            """
            INSERT INTO fact_memories (agent_id, tenant_id, memory_id, fact_id)
            SELECT $1, $2, new.memory_id, new.fact_id FROM unnest($3::uuid[], $4::uuid[]) AS new (memory_id, fact_id)
            ORDER BY new.memory_id, new.fact_id
            """,
            agent_id,
            self._tenant_id,
            [memory_id for _, _, memory_id, _ in ties],
            [fact_id for _, _, _, fact_id in ties],
        )

    async def hold(self, agent_id: UUID, rows: Sequence[Statement]) -> None:
        """Write when the memories of these statements ceased to hold."""
        rows = sorted(rows, key=lambda row: row.id.int)
        await self._driver.execute(
            """
            UPDATE facts f SET held_until = new.held_until
            FROM (
                SELECT n.id, n.held_until FROM unnest($3::uuid[], $4::timestamptz[]) AS n (id, held_until) ORDER BY n.id
            ) AS new
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.id = new.id
            """,
            agent_id,
            self._tenant_id,
            [row.id for row in rows],
            [row.held_until for row in rows],
        )

    async def erase(self, agent_id: UUID, memory_id: UUID) -> tuple[int, set[UUID]]:
        """Erase the statements of a memory, whose slots are locked; how many, and the nodes that they named."""
        rows = await self._driver.fetch(
            # What was believed of them, and what ties them to memories, goes with them.
            """
            DELETE FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id = $3
            RETURNING f.subject_node, f.object_node
            """,
            agent_id,
            self._tenant_id,
            memory_id,
        )
        return len(rows), {node for row in rows for node in row.values()}
