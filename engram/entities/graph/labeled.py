"""SQL of the entity graph over triples: what is stated of entities in place of what occurs with them.

Scope: every statement names the tenant and the agent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.moments import aware
from engram.db.parameters import Parameters
from engram.entities.graph.observed import Observed
from engram.entities.graph.repository import EntityGraphRepository, Merged
from engram.entities.graph.schemas import TripleDirection
from engram.entities.graph.walk import Entity, Via
from engram.facts.schemas import Provenance


class LabeledGraphRepository(EntityGraphRepository):
    """The same walks over facts that hold at the moment: of all relations, or of some. A pair has the weight of the
    memories that state any of these, and shows the relation that most of them state."""

    def __init__(
        self, connection: AsyncConnection, observed: Observed, merged: Merged, relations: Sequence[str] | None
    ) -> None:
        super().__init__(connection, observed, merged)
        self._relations = list(relations) if relations is not None else None

    async def described(
        self, pairs: Sequence[tuple[Entity, Entity]]
    ) -> list[tuple[datetime | None, datetime | None, Via | None]]:
        """When the first fact of each pair began to hold, when the last ends, and what most of them say."""
        p = Parameters()
        rows = await self._driver.fetch(
            f"""
            {self._seen([near for near, _ in pairs], [], p)}
            SELECT shown.*
            FROM unnest({p([far.id for _, far in pairs], "uuid[]")}) WITH ORDINALITY AS asked (other, place)
            CROSS JOIN LATERAL ({self._window("asked.place - 1", "asked.other", p)}) AS shown
            ORDER BY asked.place
            """,
            *p.values,
        )
        return [(aware(row["valid_from"]), aware(row["valid_until"]), self._via(row)) for row in rows]

    def _seen(
        self,
        front: Sequence[Entity],
        visited: Collection[UUID],
        p: Parameters,
        *,
        only: Collection[UUID] | None = None,
    ) -> str:
        wanted = f" AND pair.other = ANY ({p(list(only), 'uuid[]')})" if only is not None else ""
        return f"""
            WITH front AS MATERIALIZED ({self._front(front, p)}),
            told AS MATERIALIZED (
                SELECT pair.place, {self._node("pair.other")} AS other, pair.source, pair.relation, pair.direction,
                    pair.provenance, pair.valid_from, pair.valid_until
                FROM ({self._stated(p)}) AS pair {self._nodes("pair.other", p)}
                WHERE pair.other <> ALL ({p(list(visited), "uuid[]")}){wanted}
            ),
            seen AS MATERIALIZED (
                SELECT place, other, count(DISTINCT source) AS co_occur FROM told GROUP BY place, other
                HAVING count(DISTINCT source) >= {p(self._observed.min_co_occur, "bigint")}
            )
        """

    def _stated(self, p: Parameters) -> str:
        """Facts of ``front`` (place, id), from either end, each with what states it."""
        observed = self._observed
        at = p(observed.as_of or observed.now, "timestamptz")
        wanted = f"AND s.predicate = ANY ({p(self._relations, 'text[]')})" if self._relations is not None else ""
        parts = [
            f"""
            SELECT f.place, s.{far} AS other, coalesce(t.memory_id, s.id) AS source, s.predicate AS relation,
                '{direction.value}' AS direction, s.provenance, s.valid_from, s.valid_until
            FROM front f
            JOIN facts s ON {observed.mine("s", p)} AND s.{near} = f.id AND s.{far} IS NOT NULL
                AND s.status = 'standing' AND s.valid_from <= {at} AND (s.valid_until IS NULL OR s.valid_until > {at})
                {wanted}
            LEFT JOIN fact_memories t ON {observed.mine("t", p)} AND t.fact_id = s.id
            """
            for near, far, direction in (
                ("subject_entity", "object_entity", TripleDirection.out),
                ("object_entity", "subject_entity", TripleDirection.into),
            )
        ]
        return " UNION ALL ".join(parts)

    def _window(self, place: str, other: str, p: Parameters) -> str:
        of_pair = f"told.place = {place} AND told.other = {other}"
        return f"""
            SELECT held.valid_from, held.valid_until, most.relation, most.direction, most.provenance
            FROM (
                SELECT min(told.valid_from) AS valid_from,
                    CASE WHEN bool_and(told.valid_until IS NOT NULL) THEN max(told.valid_until) END AS valid_until
                FROM told WHERE {of_pair}
            ) AS held
            LEFT JOIN LATERAL (
                SELECT told.relation, told.direction, min(told.provenance) AS provenance FROM told WHERE {of_pair}
                GROUP BY told.relation, told.direction
                ORDER BY count(DISTINCT told.source) DESC, told.relation COLLATE "C", told.direction DESC LIMIT 1
            ) AS most ON true
        """

    def _via(self, row: Mapping[str, Any] | asyncpg.Record) -> Via | None:
        if row["relation"] is None:
            return None
        # Extracted comes before facet, and that before inferred, as in the alphabet.
        provenance = Provenance(row["provenance"]) if row["provenance"] is not None else None
        return Via(row["relation"], TripleDirection(row["direction"]), provenance)
