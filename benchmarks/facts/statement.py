"""The walk as one statement, as somebody who knows the table would write it by hand.

Both give all simple paths of one and two hops from a node, in both directions, with the texts of their facts, in the
order in which ours come: the shorter first, then by the newest fact.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import asyncpg

_HOLDS = "{0}.agent_id = $1 AND {0}.status = 'standing' AND ({0}.valid_until IS NULL OR {0}.valid_until > now())"
_SHOWN = "{0}.id, {0}.recorded_at, {0}.subject, {0}.predicate, {0}.object"


def _step(alias: str, near: str, far: str, at: str, forward: str, extra: str = "") -> str:
    holds, shown = _HOLDS.format(alias), _SHOWN.format(alias)
    return f"""
        SELECT {shown}, {alias}.{far} AS reached, {forward} AS forward FROM facts {alias}
        WHERE {holds} AND {alias}.{near} = {at} AND {alias}.{far} <> $2 {extra}
    """


def _steps(alias: str, at: str, extra: str = "", most: str = "") -> str:
    """From both ends of facts; with ``most`` the first so many of each."""
    ends = (("subject_node", "object_node", "true"), ("object_node", "subject_node", "false"))
    ordered = f"ORDER BY {alias}.recorded_at DESC, {alias}.id {most}" if most else ""
    return " UNION ALL ".join(
        f"({_step(alias, near, far, at, forward, extra.format(far))} {ordered})" for near, far, forward in ends
    )


_ONE_HOP = """
    SELECT 1 AS hops, a.recorded_at AS newest, a.id AS id1, a.recorded_at AS at1, a.subject AS subject1,
        a.predicate AS predicate1, a.object AS object1, a.forward AS forward1, NULL::uuid AS id2,
        NULL::timestamptz AS at2, NULL AS subject2, NULL AS predicate2, NULL AS object2, NULL::bool AS forward2
    FROM first a
"""
_TWO_HOPS = """
    SELECT 2 AS hops, greatest(a.recorded_at, b.recorded_at) AS newest, a.id AS id1, a.recorded_at AS at1,
        a.subject AS subject1, a.predicate AS predicate1, a.object AS object1, a.forward AS forward1, b.id AS id2,
        b.recorded_at AS at2, b.subject AS subject2, b.predicate AS predicate2, b.object AS object2,
        b.forward AS forward2
    FROM first a CROSS JOIN LATERAL ({steps}) AS b
"""
_ORDER = "ORDER BY hops, newest DESC, at1 DESC, id1, at2 DESC, id2, forward1 DESC, forward2 DESC LIMIT $3"

ALL_PATHS = f"""
    WITH first AS ({_steps("f", "$2")})
    {_ONE_HOP} UNION ALL {_TWO_HOPS.format(steps=_steps("s", "a.reached", "AND s.{} <> a.reached"))}
    {_ORDER}
"""
"""Makes all paths and sorts them: what one writes first."""

FIRST_PATHS = f"""
    WITH first AS MATERIALIZED ({_steps("f", "$2", most="LIMIT $3")})
    {_ONE_HOP}
    UNION ALL
    {
    _TWO_HOPS.format(
        steps=_steps("s", "a.reached", "AND s.{} <> a.reached", most="LIMIT $3")
        + " ORDER BY recorded_at DESC, id LIMIT $3"
    )
}
    {_ORDER}
"""
"""Reads of each node only so many facts as are wanted, through the index that has them in their order."""


class ByHand:
    """Prepared statements on one connection."""

    def __init__(self, agent_id: UUID, statements: dict[str, Any]) -> None:
        self._agent_id = agent_id
        self._statements = statements

    @classmethod
    async def prepared(cls, connection: asyncpg.Connection, agent_id: str) -> ByHand:
        texts = {"all": ALL_PATHS, "first": FIRST_PATHS}
        return cls(UUID(agent_id), {name: await connection.prepare(text) for name, text in texts.items()})

    async def walk(self, statement: str, node: UUID, limit: int) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._statements[statement].fetch(self._agent_id, node, limit)
        return rows
