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
from engram.paging import MAX_LIMIT

After = tuple[int | datetime, str, str, str, str]
"""What the last triple of a page is ordered by: number or moment, subject, relation, object, key."""

_ORDERS = {TripleSort.co_occur: ("co_occur", "bigint"), TripleSort.recency: ("last_seen", "timestamptz")}

_KEYS = "subject_key, object_key, predicate"
"""Of a triple."""

_SPELT = "min(subject) AS subject_text, min(object) AS object_text"
"""Of ends that are no entities."""

_TOLD = """
    SELECT number, count(DISTINCT coalesce(memory_id, id)) AS co_occur, max(confidence) AS confidence,
        CASE min(CASE provenance WHEN 'extracted' THEN 1 WHEN 'inferred' THEN 2 WHEN 'facet' THEN 3 END)
            WHEN 1 THEN 'extracted' WHEN 2 THEN 'inferred' WHEN 3 THEN 'facet' END AS provenance,
        array_remove(array_agg(DISTINCT adapter_name), NULL) AS adapters, min(valid_from) AS valid_from,
        CASE WHEN bool_and(valid_until IS NOT NULL) THEN max(valid_until) END AS valid_until,
        max(seen_at) AS last_seen
    FROM shown GROUP BY number
"""
"""What all facts of a line say together."""


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
            page AS MATERIALIZED (
                SELECT row_number() OVER (ORDER BY lines.{order} DESC, {names}) AS number, lines.*
                FROM (
                    SELECT * FROM ({self._lines(sort_by, p)}) AS lines {beyond}
                    ORDER BY lines.{order} DESC, {names} LIMIT {p(limit, "int")}
                ) AS lines
                -- So that the planner knows how few they are.
                LIMIT {MAX_LIMIT + 1:d}
            ),
            shown AS MATERIALIZED (
                SELECT page.number, stated.* FROM stated JOIN page USING (subject_key, object_key, predicate)
            )
            SELECT page.subject, page.subject_shown, page.predicate, page.object, page.object_shown, page.key,
                told.*{", behind.sources, behind.outlived" if sources else ""}
            FROM page JOIN ({_TOLD}) AS told USING (number)
            {f"LEFT JOIN ({self._behind(p)}) AS behind USING (number)" if sources else ""}
            ORDER BY page.number
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
        subject, object, merged = "f.subject_entity", "f.object_entity", ""
        if wanted.merged:
            # As long as it is: their order is that of the ids.
            ids, nodes = p(list(wanted.merged), "uuid[]"), p(list(wanted.merged.values()), "uuid[]")
            subject, object = f"ms.node, {subject}", f"mo.node, {object}"
            merged = f"""
                LEFT JOIN unnest({ids}, {nodes}) AS ms (id, node) ON ms.id = f.subject_entity
                LEFT JOIN unnest({ids}, {nodes}) AS mo (id, node) ON mo.id = f.object_entity
            """
        return f"""
            SELECT f.id, f.predicate, f.confidence, f.provenance, f.adapter_name, f.valid_from, f.valid_until,
                coalesce(f.arrived_at, f.recorded_at) AS seen_at,
                coalesce({subject}, f.subject_node) AS subject_key,
                coalesce({object}, f.object_node) AS object_key,
                CASE WHEN f.subject_entity IS NULL THEN f.subject END AS subject,
                CASE WHEN f.object_entity IS NULL THEN f.object END AS object,
                t.memory_id
            FROM {believed.facts(p)} f
            LEFT JOIN fact_memories t ON {believed.mine("t", p)} AND t.fact_id = f.id
            {merged}
            WHERE {" AND ".join(clauses)}
        """

    def _lines(self, sort_by: TripleSort, p: Parameters) -> str:
        """All triples, by what they are ordered by and no more: there may be as many as an agent has facts."""
        mine = self._believed.mine
        if sort_by is TripleSort.recency:
            counted = f"SELECT {_KEYS}, max(seen_at) AS last_seen, {_SPELT} FROM stated GROUP BY {_KEYS}"
        else:
            # Counted in two steps: of so many groups DISTINCT would sort each.
            counted = f"""
                SELECT {_KEYS}, count(*) AS co_occur, {_SPELT}
                FROM (
                    SELECT {_KEYS}, min(subject) AS subject, min(object) AS object FROM stated
                    GROUP BY {_KEYS}, coalesce(memory_id, id)
                ) AS each
                GROUP BY {_KEYS}
            """
        return f"""
            SELECT counted.*, counted.subject_key::text || counted.object_key::text AS key,
                coalesce(s.name, counted.subject_text) AS subject,
                coalesce(s.display_name, counted.subject_text) AS subject_shown,
                coalesce(o.name, counted.object_text) AS object,
                coalesce(o.display_name, counted.object_text) AS object_shown
            FROM ({counted}) AS counted
            LEFT JOIN entities s ON {mine("s", p)} AND s.id = counted.subject_key
            LEFT JOIN entities o ON {mine("o", p)} AND o.id = counted.object_key
        """

    def _behind(self, p: Parameters) -> str:
        """The last memories to state a line, and whether all that state it were superseded; null where none does."""
        mine = self._believed.mine
        return f"""
            SELECT number, bool_and(status IS NOT NULL AND status <> 'current') AS outlived,
                jsonb_agg(jsonb_build_object('memory_id', id, 'key', key, 'status', status) ORDER BY place)
                    FILTER (WHERE id IS NOT NULL AND place <= {MAX_TRIPLE_SOURCES:d}) AS sources
            FROM (
                SELECT each.number, m.id, m.key, m.status, row_number() OVER (
                    PARTITION BY each.number ORDER BY m.id IS NULL, each.seen_at DESC, m.id
                ) AS place
                FROM (
                    SELECT number, memory_id, max(seen_at) AS seen_at FROM shown GROUP BY number, memory_id
                ) AS each
                LEFT JOIN LATERAL (
                    SELECT m.id, m.key, m.status FROM memories m WHERE {mine("m", p)} AND m.id = each.memory_id OFFSET 0
                ) AS m ON true
            ) AS ordered
            GROUP BY number
        """
