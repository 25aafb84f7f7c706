"""SQL of facts. Scope: every statement names the tenant and the agent; look-ups by id the tenant.

Whoever changes facts of a slot locks the slot first, and slots in the order of their keys.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.facts.keys import node_key
from engram.facts.known import COLUMNS, Believed
from engram.facts.names import node_name
from engram.facts.rows import Closure, NewFact
from engram.facts.slots import News
from engram.tenants.scope import Scope

_VALUES = (
    "f.id, f.slot, f.object, f.valid_from, f.valid_until, f.stated_until, f.recorded_at, f.updated_at, f.supersede,"
    " f.status, f.superseded_by"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """Which facts of a partition are wanted, as they are spelt."""

    user_id: str | None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None


MAX_MEMORIES = 200
"""Memories behind the facts of one answer that are shown."""

EXCERPT_CHARS = 200

After = tuple[datetime, UUID]
"""When the last fact of a page was recorded, and its id."""


class FactRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def lock_slots(self, agent_id: UUID, slots: Collection[UUID]) -> None:
        """Let nobody else write to these slots until the transaction ends, also where they are empty."""
        await self._driver.execute(
            """
            INSERT INTO fact_slots (agent_id, slot, tenant_id)
            SELECT $1, new.slot, $2 FROM unnest($3::uuid[]) AS new (slot) ORDER BY new.slot
            ON CONFLICT (agent_id, slot) DO UPDATE SET tenant_id = excluded.tenant_id WHERE false
            """,
            agent_id,
            self._tenant_id,
            list(slots),
        )

    async def unended(self, agent_id: UUID, starts: Mapping[UUID, datetime]) -> list[dict[str, Any]]:
        """Facts of each slot that end at the given moment or later, but those taken back."""
        rows = await self._driver.fetch(
            f"""
            SELECT {_VALUES}
            FROM unnest($3::uuid[], $4::timestamptz[]) AS asked (slot, start)
            JOIN facts f ON f.agent_id = $1 AND f.tenant_id = $2 AND f.slot = asked.slot
                AND coalesce(f.valid_until, 'infinity'::timestamptz) >= asked.start
            WHERE f.status <> 'undone'
            """,
            agent_id,
            self._tenant_id,
            list(starts),
            list(starts.values()),
        )
        return [dict(row) for row in rows]

    async def touched(self, agent_id: UUID, news: Collection[News]) -> list[dict[str, Any]]:
        """Facts of each slot that what comes there may end, or that may end what comes, but those taken back.

        Of those that say the same as all that comes, which may be very many, there is only the one changed last.
        """
        if not news:
            return []
        held = f"""
            SELECT {_VALUES} FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.slot = news.slot AND f.status <> 'undone'
                AND coalesce(f.valid_until, 'infinity'::timestamptz) > news.start
        """
        rows = await self._driver.fetch(
            f"""
            SELECT held.* FROM unnest($3::uuid[], $4::timestamptz[], $5::text[]) AS news (slot, start, object)
            CROSS JOIN LATERAL (
                ({held} AND f.object IS DISTINCT FROM news.object)
                UNION ALL
                ({held} AND f.object = news.object ORDER BY f.updated_at DESC LIMIT 1)
            ) AS held
            """,
            agent_id,
            self._tenant_id,
            [new.slot for new in news],
            [new.start for new in news],
            [new.object for new in news],
        )
        return [dict(row) for row in rows]

    async def insert(
        self,
        agent_id: UUID,
        facts: Sequence[tuple[NewFact, Closure, datetime]],
        entities: Mapping[str, UUID],
    ) -> None:
        """Write facts, each with what is believed of it from the start and when it was learnt; ordered by id.
        ``entities`` are those at their ends, by canonical name."""
        await self._driver.execute(
            """
            INSERT INTO facts (
                agent_id, tenant_id, id, subject_node, object_node, slot, recorded_at, updated_at, valid_from,
                valid_until, stated_until, confidence, supersede, closed_by, superseded_by, user_id, subject, predicate,
                object, sources, subject_entity, object_entity
            )
            SELECT $1, $2, new.id, new.subject_node, new.object_node, new.slot, new.recorded_at, new.recorded_at,
                new.valid_from, new.valid_until, new.stated_until, new.confidence, new.supersede, new.closed_by,
                new.superseded_by, new.user_id, new.subject, new.predicate, new.object,
                CASE WHEN new.sources IS NULL THEN '{}'
                     ELSE ARRAY(SELECT jsonb_array_elements_text(new.sources::jsonb)) END,
                new.subject_entity, new.object_entity
            FROM unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::timestamptz[], $8::timestamptz[],
                $9::timestamptz[], $10::timestamptz[], $11::float8[], $12::bool[], $13::text[], $14::uuid[],
                $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::uuid[], $21::uuid[]) AS new (
                    id, subject_node, object_node, slot, recorded_at, valid_from, valid_until, stated_until, confidence,
                    supersede, closed_by, superseded_by, user_id, subject, predicate, object, sources,
                    subject_entity, object_entity
                )
            ORDER BY new.id
            """,
            agent_id,
            self._tenant_id,
            [fact.id for fact, _, _ in facts],
            [fact.subject_node for fact, _, _ in facts],
            [fact.object_node for fact, _, _ in facts],
            [fact.slot for fact, _, _ in facts],
            [recorded_at for _, _, recorded_at in facts],
            [fact.item.valid_from or recorded_at for fact, _, recorded_at in facts],
            [closure.valid_until for _, closure, _ in facts],
            [fact.item.valid_until for fact, _, _ in facts],
            [fact.item.confidence for fact, _, _ in facts],
            [fact.item.supersede for fact, _, _ in facts],
            [closure.closed_by for _, closure, _ in facts],
            [closure.superseded_by for _, closure, _ in facts],
            [fact.item.user_id for fact, _, _ in facts],
            [fact.item.subject for fact, _, _ in facts],
            [fact.item.predicate for fact, _, _ in facts],
            [fact.item.object for fact, _, _ in facts],
            [json.dumps(fact.item.sources) if fact.item.sources else None for fact, _, _ in facts],
            [entities[fact.subject_name] if fact.subject_name is not None else None for fact, _, _ in facts],
            [entities[fact.object_name] if fact.object_name is not None else None for fact, _, _ in facts],
        )

    async def close(self, agent_id: UUID, closures: Sequence[Closure], at: Sequence[datetime]) -> None:
        """Change what is believed of facts, in the slots that are locked, and append it to what was."""
        rows = sorted(zip(closures, at, strict=True), key=lambda row: row[0].fact_id.int)
        values = (
            agent_id,
            self._tenant_id,
            [closure.fact_id for closure, _ in rows],
            [moment for _, moment in rows],
            [closure.status.value for closure, _ in rows],
            [closure.valid_until for closure, _ in rows],
            [closure.closed_by for closure, _ in rows],
            [closure.superseded_by for closure, _ in rows],
        )
        await self._driver.execute(
            """
            WITH new AS MATERIALIZED (
                SELECT * FROM unnest($3::uuid[], $4::timestamptz[], $5::text[], $6::timestamptz[], $7::text[],
                    $8::uuid[]) AS n (fact_id, recorded_at, status, valid_until, closed_by, superseded_by)
                ORDER BY n.fact_id
            ),
            appended AS (
                INSERT INTO fact_closures (
                    agent_id, tenant_id, fact_id, recorded_at, status, valid_until, closed_by, superseded_by
                )
                SELECT $1, $2, new.* FROM new
            )
            UPDATE facts f SET status = new.status, valid_until = new.valid_until, closed_by = new.closed_by,
                superseded_by = new.superseded_by, updated_at = new.recorded_at
            FROM new WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.id = new.fact_id
            """,
            *values,
        )

    async def add_words(self, agent_id: UUID, words: Collection[tuple[UUID, UUID]]) -> None:
        """Make nodes known by their words."""
        rows = sorted(words, key=lambda row: (row[0].int, row[1].int))
        await self._driver.execute(
            """
            INSERT INTO fact_words (agent_id, tenant_id, word, node)
            SELECT $1, $2, new.word, new.node FROM unnest($3::uuid[], $4::uuid[]) AS new (word, node)
            ORDER BY new.word, new.node
            ON CONFLICT DO NOTHING
            """,
            agent_id,
            self._tenant_id,
            [word for word, _ in rows],
            [node for _, node in rows],
        )

    async def add_memories(self, agent_id: UUID, facts: Sequence[NewFact]) -> None:
        """Tie facts to those of their sources that are memories of the agent."""
        rows = sorted((id.int, fact.id.int, id, fact.id) for fact in facts for id in fact.memories)
        if not rows:
            return
        await self._driver.execute(
            """
            INSERT INTO fact_memories (agent_id, tenant_id, memory_id, fact_id)
            SELECT $1, $2, new.memory_id, new.fact_id FROM unnest($3::uuid[], $4::uuid[]) AS new (memory_id, fact_id)
            JOIN memories m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = new.memory_id
            ORDER BY new.memory_id, new.fact_id
            ON CONFLICT DO NOTHING
            """,
            agent_id,
            self._tenant_id,
            [memory_id for _, _, memory_id, _ in rows],
            [fact_id for _, _, _, fact_id in rows],
        )

    async def place(self, id: UUID) -> tuple[UUID, UUID] | None:
        """Agent and slot of a fact in any state."""
        row = await self._driver.fetchrow(
            f"""
            SELECT agent_id, slot FROM facts
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) AND {of_seen_agent("facts")}
            """,
            id,
            self._tenant_id,
            self._only,
        )
        return (row["agent_id"], row["slot"]) if row else None

    async def by_ids(
        self, agent_id: UUID, ids: Collection[UUID], *, known_at: datetime | None = None
    ) -> dict[UUID, dict[str, Any]]:
        """Facts in any state, by id, as they were known."""
        p = Parameters()
        believed = Believed.of(self._tenant_id, agent_id, valid_at=None, known_at=known_at, ended=True)
        rows = await self._driver.fetch(
            f"""
            SELECT {COLUMNS} FROM {believed.facts(p)} f
            WHERE {believed.mine("f", p)} AND f.id = ANY ({p(list(ids), "uuid[]")})
            """,
            *p.values,
        )
        return {row["id"]: dict(row) for row in rows}

    async def memories_of(
        self, agent_id: UUID, fact_ids: Collection[UUID], user_id: str | None
    ) -> list[dict[str, Any]]:
        """Memories that these facts name as their sources and that are not deleted, by id: of each the beginning. With
        a user none of another."""
        rows = await self._driver.fetch(
            f"""
            SELECT m.id, left(m.content, {EXCERPT_CHARS:d}) AS content,
                length(m.content) > {EXCERPT_CHARS:d} AS content_truncated
            FROM (
                SELECT DISTINCT s.memory_id FROM fact_memories s
                WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.fact_id = ANY ($3::uuid[])
                ORDER BY s.memory_id LIMIT {MAX_MEMORIES:d}
            ) AS source
            JOIN memories m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = source.memory_id
                AND m.status <> 'deleted' AND ($4::text IS NULL OR m.user_id IS NULL OR m.user_id = $4)
            ORDER BY m.id
            """,
            agent_id,
            self._tenant_id,
            list(fact_ids),
            user_id,
        )
        return [dict(row) for row in rows]

    async def closures(self, agent_id: UUID, id: UUID) -> list[dict[str, Any]]:
        """What came to be believed of a fact after its writer's word, the first first."""
        rows = await self._driver.fetch(
            """
            SELECT recorded_at, status, valid_until, closed_by, superseded_by FROM fact_closures
            WHERE agent_id = $1 AND tenant_id = $2 AND fact_id = $3 ORDER BY recorded_at LIMIT 10000
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        return [dict(row) for row in rows]

    async def page(
        self, believed: Believed, wanted: FactFilter, *, limit: int, after: After | None
    ) -> list[dict[str, Any]]:
        """Facts, the one learnt last first."""
        p = Parameters()
        clauses = [believed.seen("f", p), *_wanted(wanted, p)]
        if after is not None:
            recorded_at, id = p(after[0], "timestamptz"), p(after[1], "uuid")
            clauses.append(f"f.recorded_at <= {recorded_at} AND (f.recorded_at < {recorded_at} OR f.id > {id})")
        rows = await self._driver.fetch(
            f"""
            SELECT {COLUMNS} FROM {believed.facts(p)} f WHERE {" AND ".join(clauses)}
            ORDER BY {_order(wanted)} LIMIT {p(limit, "int")}
            """,
            *p.values,
        )
        return [dict(row) for row in rows]

    async def count(self, believed: Believed, wanted: FactFilter) -> int:
        p = Parameters()
        clauses = [believed.seen("f", p), *_wanted(wanted, p)]
        total: int = await self._driver.fetchval(
            f"SELECT count(*) FROM {believed.facts(p)} f WHERE {' AND '.join(clauses)}", *p.values
        )
        return total


def _order(wanted: FactFilter) -> str:
    """The one learnt last first, in the words of the index that has them so."""
    order = "f.recorded_at DESC, f.id"
    # All have one user; but that those of no user are one run of an index by users Postgres sees only if it is said.
    by_node = wanted.subject is not None or wanted.object is not None
    return order if by_node else f"f.user_id, {order}"


def _wanted(wanted: FactFilter, p: Parameters) -> list[str]:
    user = "f.user_id IS NULL" if wanted.user_id is None else f"f.user_id = {p(wanted.user_id, 'text')}"
    clauses = [user]
    # Through the node, which has an index, to the spelling.
    for end, text in (("subject", wanted.subject), ("object", wanted.object)):
        if text is not None:
            node = node_key(wanted.user_id, node_name(text))
            clauses.append(f"f.{end}_node = {p(node, 'uuid')} AND f.{end} = {p(text, 'text')}")
    if wanted.predicate is not None:
        clauses.append(f"f.predicate = {p(wanted.predicate, 'text')}")
    return clauses
