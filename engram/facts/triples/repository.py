"""SQL of facts by what they say. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.moments import aware
from engram.db.parameters import Parameters
from engram.facts.known import Believed
from engram.facts.schemas import Provenance
from engram.facts.triples.schemas import MAX_TRIPLE_SOURCES, TripleSort

After = tuple[int | datetime, str, str, str, str]
"""What the last triple of a page is ordered by: number or moment, subject, relation, object, key."""

_ORDERS = {TripleSort.co_occur: ("co_occur", "bigint"), TripleSort.recency: ("last_seen", "timestamptz")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleFilter:
    """Which triples are wanted: each given condition holds. Ids are those of merged entities, empty where a name is
    nobody's."""

    subject: Sequence[UUID] | None = None
    object: Sequence[UUID] | None = None
    entity: Sequence[UUID] | None = None
    relation: str | None = None
    provenance: Provenance | None = None
    adapter: str | None = None
    merged: Mapping[UUID, UUID] = field(default_factory=dict)
    """To each entity that was merged the one that stands for all of them."""

    def clauses(self, p: Parameters) -> list[str]:
        found = []
        if self.subject is not None:
            found.append(f"f.subject_entity = ANY ({p(list(self.subject), 'uuid[]')})")
        if self.object is not None:
            found.append(f"f.object_entity = ANY ({p(list(self.object), 'uuid[]')})")
        if self.entity is not None:
            ids = p(list(self.entity), "uuid[]")
            found.append(f"(f.subject_entity = ANY ({ids}) OR f.object_entity = ANY ({ids}))")
        if self.relation is not None:
            found.append(f"f.predicate = {p(self.relation, 'text')}")
        if self.provenance is not None:
            found.append(f"f.provenance = {p(self.provenance.value, 'text')}")
        if self.adapter is not None:
            found.append(f"f.adapter_name = {p(self.adapter, 'text')}")
        return found


class TripleRepository:
    def __init__(self, connection: AsyncConnection, believed: Believed) -> None:
        self._driver = driver(connection)
        self._believed = believed

    async def page(
        self, wanted: TripleFilter, *, sort_by: TripleSort, limit: int, after: After | None, sources: bool
    ) -> list[dict[str, Any]]:
        """Triples in order, each with the memories that state it where ``sources`` are asked for."""
        p = Parameters()
        order, kind = _ORDERS[sort_by]
        names = (
            'lines.subject COLLATE "C", lines.predicate COLLATE "C", lines.object COLLATE "C", lines.key COLLATE "C"'
        )
        beyond = ""
        if after is not None:
            first, *last = after
            place = p(first, kind)
            texts = ", ".join(p(text, "text") for text in last)
            beyond = f"WHERE lines.{order} < {place} OR (lines.{order} = {place} AND ({names}) > ({texts}))"
        rows = await self._driver.fetch(
            f"""
            WITH stated AS MATERIALIZED ({self._stated(wanted, p)}),
            lines AS MATERIALIZED ({self._lines(p)})
            SELECT lines.*{self._sources(p) if sources else ""}
            FROM lines {beyond}
            ORDER BY lines.{order} DESC, {names} LIMIT {p(limit, "int")}
            """,
            *p.values,
        )
        return [
            {**row, "valid_from": aware(row["valid_from"]), "valid_until": aware(row["valid_until"])} for row in rows
        ]

    def _stated(self, wanted: TripleFilter, p: Parameters) -> str:
        """Facts that are seen, by the nodes at their ends, each with the memories that state it."""
        believed = self._believed
        clauses = [believed.seen("f", p), *wanted.clauses(p)]
        # As long as it is: their order is that of the ids.
        ids, nodes = p(list(wanted.merged), "uuid[]"), p(list(wanted.merged.values()), "uuid[]")
        merged = f"LEFT JOIN unnest({ids}, {nodes})"
        return f"""
            SELECT f.id, f.predicate, f.subject, f.object, f.confidence, f.provenance, f.adapter_name, f.valid_from,
                f.valid_until, coalesce(f.arrived_at, f.recorded_at) AS seen_at,
                coalesce(ms.node, f.subject_entity) AS subject_entity,
                coalesce(mo.node, f.object_entity) AS object_entity,
                coalesce(ms.node, f.subject_entity, f.subject_node) AS subject_key,
                coalesce(mo.node, f.object_entity, f.object_node) AS object_key,
                t.memory_id
            FROM {believed.facts(p)} f
            LEFT JOIN fact_memories t ON {believed.mine("t", p)} AND t.fact_id = f.id
            {merged} AS ms (id, node) ON ms.id = f.subject_entity
            {merged} AS mo (id, node) ON mo.id = f.object_entity
            WHERE {" AND ".join(clauses)}
        """

    def _lines(self, p: Parameters) -> str:
        mine = self._believed.mine
        return f"""
            SELECT told.subject_key, told.object_key, told.predicate,
                told.subject_key::text || told.object_key::text AS key,
                coalesce(s.name, told.subject) AS subject, coalesce(s.display_name, told.subject) AS subject_shown,
                coalesce(o.name, told.object) AS object, coalesce(o.display_name, told.object) AS object_shown,
                told.co_occur, told.confidence, told.provenance, told.adapters, told.valid_from, told.valid_until,
                told.last_seen
            FROM (
                SELECT subject_key, object_key, predicate, min(subject_entity::text)::uuid AS subject_entity,
                    min(object_entity::text)::uuid AS object_entity, min(subject) AS subject, min(object) AS object,
                    count(DISTINCT coalesce(memory_id, id)) AS co_occur, max(confidence) AS confidence,
                    CASE min(CASE provenance WHEN 'extracted' THEN 1 WHEN 'inferred' THEN 2 WHEN 'facet' THEN 3 END)
                        WHEN 1 THEN 'extracted' WHEN 2 THEN 'inferred' WHEN 3 THEN 'facet' END AS provenance,
                    array_remove(array_agg(DISTINCT adapter_name), NULL) AS adapters, min(valid_from) AS valid_from,
                    CASE WHEN bool_and(valid_until IS NOT NULL) THEN max(valid_until) END AS valid_until,
                    max(seen_at) AS last_seen
                FROM stated GROUP BY subject_key, object_key, predicate
            ) AS told
            LEFT JOIN entities s ON {mine("s", p)} AND s.id = told.subject_entity
            LEFT JOIN entities o ON {mine("o", p)} AND o.id = told.object_entity
        """

    def _sources(self, p: Parameters) -> str:
        """The last memories to state a line, and whether all that state it were superseded; null where none does."""
        mine = self._believed.mine
        of_line = (
            "stated.subject_key = lines.subject_key AND stated.object_key = lines.object_key"
            " AND stated.predicate = lines.predicate"
        )
        return f""",
            (
                SELECT jsonb_agg(jsonb_build_object('memory_id', each.id, 'key', each.key, 'status', each.status)
                    ORDER BY each.seen_at DESC, each.id)
                FROM (
                    SELECT m.id, m.key, m.status, max(stated.seen_at) AS seen_at FROM stated
                    JOIN memories m ON {mine("m", p)} AND m.id = stated.memory_id
                    WHERE {of_line}
                    GROUP BY m.id, m.key, m.status ORDER BY max(stated.seen_at) DESC, m.id
                    LIMIT {MAX_TRIPLE_SOURCES:d}
                ) AS each
            ) AS sources,
            (
                SELECT bool_and(m.status IS NOT NULL AND m.status <> 'current') FROM stated
                LEFT JOIN memories m ON {mine("m", p)} AND m.id = stated.memory_id
                WHERE {of_line}
            ) AS outlived
        """
