"""SQL of the entity graph. Scope: every statement names the tenant and the agent.

Without ``as_of`` pairs are read from their running sums, and what is timed is looked at beside them; with it, from the
observations of memories that held then. Both give the same where ``as_of`` is now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.moments import aware
from engram.db.parameters import Parameters
from engram.entities.graph.chains import MAX_LINKS, Link
from engram.entities.graph.observed import Observed
from engram.entities.graph.schemas import RankBy
from engram.entities.graph.walk import Entity, Step, Via

_LOOKED_UP = 10_000
"""Pairs that are looked up by both of their ends, at most."""

_SCORES = {
    RankBy.co_occur: "seen.co_occur::float8",
    RankBy.specificity: "seen.co_occur / {degree}::float8",
    RankBy.cosine: "seen.co_occur / sqrt({degree})",
}


class Merged:
    """Entities that were merged, by the id of the first of each group."""

    def __init__(self, groups: Iterable[Entity] = (), names: Mapping[str, Entity] | None = None) -> None:
        """``names`` are the groups by each of their canonical names, also those that no memory has."""
        self.nodes = list(groups)
        self.names = names or {}
        self._of = {id: entity for entity in self.nodes for id in entity.ids}

    def entity(self, row: Mapping[str, Any] | asyncpg.Record) -> Entity:
        """The node of a row, which has an id and names."""
        return self._of.get(row["id"]) or Entity(row["id"], (row["id"],), row["name"], row["display_name"])

    @property
    def ids(self) -> list[UUID]:
        return list(self._of)

    @property
    def firsts(self) -> list[UUID]:
        """To each of ``ids`` the id of its node."""
        return [entity.id for entity in self._of.values()]


class EntityGraphRepository:
    def __init__(self, connection: AsyncConnection, observed: Observed, merged: Merged) -> None:
        self._driver = driver(connection)
        self._observed = observed
        self._merged = merged

    async def hop(
        self, front: Sequence[Entity], visited: Collection[UUID], *, rank_by: RankBy, top_k: int
    ) -> list[Step]:
        """Of each entity the best ``top_k`` that it occurs with, but for what was visited; in the order of the
        entities, the best first."""
        p = Parameters()
        degree = "greatest(coalesce(known.degree, 0), seen.co_occur)"
        score = _SCORES[rank_by].format(degree=degree)
        observed = self._observed
        rows = await self._driver.fetch(
            f"""
            {self._seen(front, visited, p)},
            ranked AS MATERIALIZED (
                SELECT seen.place, seen.other, seen.co_occur, {degree} AS degree, {score} AS score, e.name,
                    e.display_name, row_number() OVER (
                        PARTITION BY seen.place ORDER BY {score} DESC, seen.co_occur DESC, e.name COLLATE "C"
                    ) AS number
                FROM seen
                JOIN entities e ON {observed.mine("e", p)} AND e.id = seen.other
                LEFT JOIN ({self._degrees(p)}) AS known ON known.id = seen.other
            )
            SELECT ranked.place, ranked.other AS id, ranked.name, ranked.display_name, ranked.co_occur, ranked.degree,
                ranked.score, shown.*, (
                    SELECT strongest.name FROM entity_communities c
                    JOIN entities strongest ON {observed.mine("strongest", p)} AND strongest.id = c.community_id
                    WHERE {observed.mine("c", p)} AND c.entity_id = ranked.other AND c.level = 0
                ) AS community
            FROM ranked
            CROSS JOIN LATERAL ({self._window("ranked.place", "ranked.other", p)}) AS shown
            WHERE ranked.number <= {p(top_k, "int")}
            ORDER BY ranked.place, ranked.number
            """,
            *p.values,
        )
        return [
            Step(
                parent=row["place"],
                entity=self._merged.entity(row),
                co_occur=row["co_occur"],
                degree=row["degree"],
                score=row["score"],
                valid_from=aware(row["valid_from"]),
                valid_until=aware(row["valid_until"]),
                community=row["community"],
                via=self._via(row),
            )
            for row in rows
        ]

    def _via(self, row: Mapping[str, Any] | asyncpg.Record) -> Via | None:
        """What is said of a pair: nothing, where its ends only occur together."""
        return None

    async def page(self, seed: Entity, *, limit: int, after: tuple[int, str] | None) -> list[Step]:
        """What occurs with an entity, the most often first, then by name; after the last of the page before."""
        p = Parameters()
        degree = "greatest(coalesce(known.degree, 0), seen.co_occur)"
        beyond = ""
        if after is not None:
            last = f"({p(-after[0], 'bigint')}, {p(after[1], 'text')})"
            beyond = f'WHERE (-seen.co_occur, e.name COLLATE "C") > {last}'
        rows = await self._driver.fetch(
            f"""
            {self._seen([seed], seed.ids, p)}
            SELECT seen.other AS id, seen.co_occur, {degree} AS degree, e.name, e.display_name
            FROM seen
            JOIN entities e ON {self._observed.mine("e", p)} AND e.id = seen.other
            LEFT JOIN ({self._degrees(p)}) AS known ON known.id = seen.other
            {beyond}
            ORDER BY seen.co_occur DESC, e.name COLLATE "C" LIMIT {p(limit, "int")}
            """,
            *p.values,
        )
        return [
            Step(0, self._merged.entity(row), row["co_occur"], row["degree"], float(row["co_occur"]), None, None)
            for row in rows
        ]

    async def links(
        self, front: Sequence[Entity], visited: Collection[UUID], *, only: Collection[UUID] | None = None
    ) -> list[Link]:
        """All pairs of these entities with what was not visited, or with these ``only``; of each entity those that
        occur most first."""
        p = Parameters()
        rows = await self._driver.fetch(
            f"""
            {self._seen(front, visited, p, only=only)}
            SELECT seen.place, seen.other AS id, seen.co_occur, e.name, e.display_name
            FROM seen JOIN entities e ON {self._observed.mine("e", p)} AND e.id = seen.other
            ORDER BY seen.place, seen.co_occur DESC, e.name COLLATE "C" LIMIT {MAX_LINKS + 1:d}
            """,
            *p.values,
        )
        return [Link(row["place"], self._merged.entity(row), row["co_occur"]) for row in rows]

    async def around(self, source: Entity, target: Entity) -> tuple[list[Link], list[Link]]:
        """All pairs of two ends, each as ``links`` has them."""
        p, sides = Parameters(), (list[Link](), list[Link]())
        rows = await self._driver.fetch(
            f"""
            {self._seen([source, target], [], p)}
            SELECT side.place, ends.id, ends.co_occur, ends.name, ends.display_name
            FROM generate_series(0, 1) AS side (place) CROSS JOIN LATERAL (
                SELECT seen.other AS id, seen.co_occur, e.name, e.display_name
                FROM seen JOIN entities e ON {self._observed.mine("e", p)} AND e.id = seen.other
                WHERE seen.place = side.place
                ORDER BY seen.co_occur DESC, e.name COLLATE "C" LIMIT {MAX_LINKS + 1:d}
            ) AS ends
            ORDER BY side.place
            """,
            *p.values,
        )
        for row in rows:
            place, far = row["place"], self._merged.entity(row)
            # Two of those that were merged may occur together.
            if far.id != (source, target)[place].id:
                sides[place].append(Link(0, far, row["co_occur"]))
        return sides

    async def described(
        self, pairs: Sequence[tuple[Entity, Entity]]
    ) -> list[tuple[datetime | None, datetime | None, Via | None]]:
        """When the first memory began that shows each pair, when the last ends (never is null), and how it relates its
        ends, which only triples tell."""
        p = Parameters()
        front = self._front([near for near, _ in pairs], p)
        rows = await self._driver.fetch(
            f"""
            WITH front AS MATERIALIZED ({front})
            SELECT shown.valid_from, shown.valid_until
            FROM unnest({p([far.id for _, far in pairs], "uuid[]")}) WITH ORDINALITY AS asked (other, place)
            CROSS JOIN LATERAL ({self._window("asked.place - 1", "asked.other", p)}) AS shown
            ORDER BY asked.place
            """,
            *p.values,
        )
        return [(aware(row["valid_from"]), aware(row["valid_until"]), None) for row in rows]

    def _front(self, front: Sequence[Entity], p: Parameters) -> str:
        places = [place for place, entity in enumerate(front) for _ in entity.ids]
        ids = [id for entity in front for id in entity.ids]
        return f"SELECT * FROM unnest({p(places, 'int[]')}, {p(ids, 'uuid[]')}) AS f (place, id)"

    def _seen(
        self,
        front: Sequence[Entity],
        visited: Collection[UUID],
        p: Parameters,
        *,
        only: Collection[UUID] | None = None,
    ) -> str:
        other, ids = self._node("pair.other"), p(list(only), "uuid[]") if only is not None else None
        # Looked up each by itself, or, where these are many, among all pairs of the front.
        few = ids is not None and len(front) * len(only or ()) <= _LOOKED_UP
        pairs = self._observed.between(ids, p) if ids is not None and few else self._observed.around(p)
        wanted = f" AND pair.other = ANY ({ids})" if ids is not None and not few else ""
        return f"""
            WITH front AS MATERIALIZED ({self._front(front, p)}),
            seen AS MATERIALIZED (
                SELECT place, other, sum(co_occur)::bigint AS co_occur
                FROM (
                    SELECT pair.place, {other} AS other, pair.co_occur
                    FROM ({pairs}) AS pair {self._nodes("pair.other", p)}
                    WHERE pair.other <> ALL ({p(list(visited), "uuid[]")}){wanted}
                ) AS counted
                GROUP BY place, other
                HAVING sum(co_occur) >= {p(self._observed.min_co_occur, "bigint")}
            )
        """

    def _degrees(self, p: Parameters) -> str:
        known = f"SELECT d.entity_id AS id, d.degree FROM entity_degrees d WHERE {self._observed.mine('d', p)}"
        if not self._merged.ids:
            return known
        return (
            f"SELECT {self._node('d.id')} AS id, sum(d.degree)::bigint AS degree FROM ({known}) AS d"
            f" {self._nodes('d.id', p)} GROUP BY 1"
        )

    def _window(self, place: str, other: str, p: Parameters) -> str:
        """Of the memories that show the pair of an entity of ``front`` and another node."""
        observed = self._observed
        parts = [
            f"""
            SELECT m.valid_from, m.valid_until FROM front f
            JOIN co_occurrences o ON {observed.mine("o", p)} AND o.{near} = f.id
                AND {self._is_node(f"o.{far}", other, p)}
            JOIN memories m ON {observed.mine("m", p)} AND m.id = o.memory_id AND {observed.holds("m", p)}
            WHERE f.place = {place}
            """
            for near, far in (("first_id", "second_id"), ("second_id", "first_id"))
        ]
        return f"""
            SELECT min(shown.valid_from) AS valid_from,
                CASE WHEN bool_and(shown.valid_until IS NOT NULL) THEN max(shown.valid_until) END AS valid_until
            FROM ({" UNION ALL ".join(parts)}) AS shown
        """

    def _nodes(self, id: str, p: Parameters) -> str:
        """A join with what was merged, where anything was."""
        if not self._merged.ids:
            return ""
        return (
            f"LEFT JOIN unnest({p(self._merged.ids, 'uuid[]')}, {p(self._merged.firsts, 'uuid[]')})"
            f" AS merged (id, node) ON merged.id = {id}"
        )

    def _node(self, id: str) -> str:
        return f"coalesce(merged.node, {id})" if self._merged.ids else id

    def _is_node(self, id: str, node: str, p: Parameters) -> str:
        if not self._merged.ids:
            return f"{id} = {node}"
        return (
            f"({id} = {node} OR {id} IN (SELECT merged.id FROM unnest({p(self._merged.ids, 'uuid[]')},"
            f" {p(self._merged.firsts, 'uuid[]')}) AS merged (id, node) WHERE merged.node = {node}))"
        )
