"""SQL of exported graphs: rows by the page, in the order of their keys. Scope: every statement names the tenant and
the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.memories.predicates import Visibility
from engram.tenants.scope import Scope

PAGE = 1000

Row = dict[str, Any]


class GraphExportRepository:
    """Reads within one snapshot. ``whole``: with what is invalidated, else what holds now."""

    def __init__(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, *, now: datetime, whole: bool
    ) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._agent_id = agent_id
        self._now = now
        self._whole = whole

    async def bound(self, idle_seconds: float) -> None:
        """Let the database end the transaction by itself where nothing is asked in it for so long."""
        await self._driver.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', $1, true)", f"{round(idle_seconds * 1000)}ms"
        )

    async def entities(self) -> AsyncIterator[list[Row]]:
        """By id: names, aliases, degree, and the name of the community.

        What is of one entity is looked up for each: joined, the whole of it might be read for every page.
        """
        after: UUID | None = None
        while True:
            p = Parameters()
            beyond = "" if after is None else f"AND e.id > {p(after, 'uuid')}"
            rows = await self._driver.fetch(
                f"""
                SELECT e.id, e.name, e.display_name, coalesce((
                        SELECT d.degree FROM entity_degrees d WHERE {self._mine("d", p)} AND d.entity_id = e.id
                    ), 0) AS degree,
                    (
                        SELECT strongest.name FROM entity_communities c
                        JOIN entities strongest ON {self._mine("strongest", p)} AND strongest.id = c.community_id
                        WHERE {self._mine("c", p)} AND c.entity_id = e.id AND c.level = 0
                    ) AS community,
                    ARRAY(SELECT a.alias FROM entity_aliases a WHERE {self._mine("a", p)} AND a.entity_id = e.id
                        ORDER BY a.alias COLLATE "C") AS aliases
                FROM (
                    SELECT e.id, e.name, e.display_name FROM entities e
                    WHERE {self._mine("e", p)} {beyond} ORDER BY e.id LIMIT {PAGE}
                ) AS e
                ORDER BY e.id
                """,
                *p.values,
            )
            if rows:
                after = rows[-1]["id"]
                yield [dict(row) for row in rows]
            if len(rows) < PAGE:
                return

    async def pairs(self, without: Sequence[UUID]) -> AsyncIterator[list[Row]]:
        """By their ends, none of which is one of these: first_id, second_id, co_occur."""
        after: tuple[UUID, UUID] | None = None
        while True:
            p = Parameters()

            def page(relation: str, count: str, alias: str, p: Parameters = p, after: Any = after) -> str:
                key = f"{alias}.first_id, {alias}.second_id"
                beyond = "" if after is None else f"AND ({key}) > ({p(after[0], 'uuid')}, {p(after[1], 'uuid')})"
                apart = ""
                if without:
                    merged = p(without, "uuid[]")
                    apart = f"AND {alias}.first_id <> ALL ({merged}) AND {alias}.second_id <> ALL ({merged})"
                return (
                    f"(SELECT {key}, {count} AS co_occur FROM {relation} {beyond} {apart}"
                    f" GROUP BY {key} ORDER BY {key} LIMIT {PAGE})"
                )

            # The first of each are all that can be among the first of both.
            parts = [page(relation, count, alias) for relation, count, alias in self._observed(p)]
            rows = await self._driver.fetch(
                f"""
                SELECT first_id, second_id, sum(co_occur)::bigint AS co_occur FROM ({" UNION ALL ".join(parts)}) AS seen
                GROUP BY first_id, second_id ORDER BY first_id, second_id LIMIT {PAGE}
                """,
                *p.values,
            )
            if rows:
                after = (rows[-1]["first_id"], rows[-1]["second_id"])
                yield [dict(row) for row in rows]
            if len(rows) < PAGE:
                return

    async def around(self, ids: Sequence[UUID]) -> list[Row]:
        """All pairs of these entities with any: other, co_occur."""
        p = Parameters()
        near = p(list(ids), "uuid[]")
        parts = [
            f"SELECT {alias}.{far} AS other, {count} AS co_occur FROM {relation} AND {alias}.{end} = ANY ({near})"
            f" GROUP BY {alias}.{far}"
            for relation, count, alias in self._observed(p)
            for end, far in (("first_id", "second_id"), ("second_id", "first_id"))
        ]
        rows = await self._driver.fetch(
            f"""
            SELECT other, sum(co_occur)::bigint AS co_occur FROM ({" UNION ALL ".join(parts)}) AS seen
            GROUP BY other ORDER BY other
            """,
            *p.values,
        )
        return [dict(row) for row in rows]

    async def facts(self) -> AsyncIterator[list[Row]]:
        """By id, as they are spelt."""
        after: UUID | None = None
        while True:
            p = Parameters()
            clauses = [self._mine("f", p)]
            if after is not None:
                clauses.append(f"f.id > {p(after, 'uuid')}")
            if not self._whole:
                now = p(self._now, "timestamptz")
                clauses.append(
                    f"f.status = 'standing' AND f.valid_from <= {now}"
                    f" AND (f.valid_until IS NULL OR f.valid_until > {now})"
                )
            rows = await self._driver.fetch(
                f"""
                SELECT f.id, f.subject, f.predicate, f.object, f.user_id, f.confidence, f.status, f.valid_from,
                    f.valid_until
                FROM facts f WHERE {" AND ".join(clauses)} ORDER BY f.id LIMIT {PAGE}
                """,
                *p.values,
            )
            if rows:
                after = rows[-1]["id"]
                yield [dict(row) for row in rows]
            if len(rows) < PAGE:
                return

    def _observed(self, p: Parameters) -> list[tuple[str, str, str]]:
        """Relations of pairs with their conditions, how often each shows a pair, and the alias they go by."""
        if self._whole:
            return [(f"co_occurrences o WHERE {self._mine('o', p)}", "count(*)", "o")]
        holding = Visibility(now=self._now, as_of=self._now).holding("m", p)
        timed = (
            f"co_occurrences o JOIN memories m ON {self._mine('m', p)} AND m.id = o.memory_id AND {holding}"
            f" WHERE {self._mine('o', p)} AND o.state = 'timed'"
        )
        return [
            (f"entity_pairs pair WHERE {self._mine('pair', p)}", "sum(pair.co_occur)", "pair"),
            (timed, "count(*)", "o"),
        ]

    def _mine(self, alias: str, p: Parameters) -> str:
        return f"{alias}.agent_id = {p(self._agent_id, 'uuid')} AND {alias}.tenant_id = {p(self._tenant_id, 'uuid')}"
