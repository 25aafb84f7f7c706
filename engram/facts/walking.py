"""SQL of walks over the fact graph: where they begin, and one hop at a time.

Of the ways to go on from a path only the first few can be among the first paths, in the order of ``facts.ranking``: so
many are read, through an index that has them in that order, and no more. What a walk costs follows its answer, and not
the degree of the nodes that it meets. Scope: every statement names the tenant and the agent; nodes and words are known
by keys that hold the user.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.facts.known import Believed

MAX_SEEDS = 10_000
"""Nodes at which paths begin."""

MAX_CANDIDATES = 100_000
"""Ways to go on that one hop looks at."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A fact that leads on from a path, and the node that it reaches."""

    path: int
    """The path's place among those that were asked about."""

    fact_id: UUID
    recorded_at: datetime
    reached: UUID
    forward: bool


@dataclass(frozen=True, slots=True)
class Front:
    """The last node of a path, where it was merged each of its names, and all nodes on the path."""

    nodes: Sequence[UUID]
    visited: Sequence[UUID]


class FactWalkRepository:
    def __init__(self, connection: AsyncConnection, believed: Believed) -> None:
        self._driver = driver(connection)
        self._believed = believed

    async def nodes_of(self, words: Collection[UUID]) -> list[UUID]:
        """Nodes that have one of these words in a name, in the order of their keys: ``MAX_SEEDS``, and one more where
        there are more."""
        p = Parameters()
        rows = await self._driver.fetch(
            f"""
            SELECT DISTINCT w.node FROM fact_words w
            WHERE {self._believed.mine("w", p)} AND w.word = ANY ({p(list(words), "uuid[]")})
            ORDER BY w.node LIMIT {MAX_SEEDS + 1:d}
            """,
            *p.values,
        )
        return [row["node"] for row in rows]

    async def named(self, nodes: Collection[UUID]) -> list[UUID]:
        """Those of these nodes that a fact names which is believed, ended or not."""
        p = Parameters()
        believed = replace(self._believed, valid_at=None, ended=True)

        def names(end: str) -> str:
            facts, seen = believed.facts(p), believed.seen("f", p)
            return f"EXISTS (SELECT FROM {facts} f WHERE {seen} AND f.{end} = asked.node)"

        rows = await self._driver.fetch(
            f"""
            SELECT asked.node FROM unnest({p(list(nodes), "uuid[]")}) AS asked (node)
            WHERE {names("subject_node")} OR {names("object_node")}
            """,
            *p.values,
        )
        return [row["node"] for row in rows]

    async def hop(self, fronts: Sequence[Front], most: int) -> list[Hop]:
        """Ways to go on from each path, of each the first ``most``, to nodes that are not on it.

        In the order of the paths, then the fact learnt last first.
        """
        p = Parameters()
        paths, nodes, visited, begins, ends = _columns(fronts)
        on_path = f"ALL (({p(visited, 'uuid[]')})[at.begins:at.ends])"
        limit = p(most, "int")

        def from_end(near: str, far: str, forward: str) -> str:
            return f"""
                (SELECT f.id, f.recorded_at, f.{far} AS reached, {forward} AS forward
                 FROM {self._believed.facts(p)} f
                 WHERE {self._believed.seen("f", p)} AND f.{near} = at.node AND f.{far} <> {on_path}
                 ORDER BY f.recorded_at DESC, f.id LIMIT {limit})
            """

        rows = await self._driver.fetch(
            f"""
            SELECT at.path, step.id, step.recorded_at, step.reached, step.forward
            FROM unnest({p(paths, "int[]")}, {p(nodes, "uuid[]")}, {p(begins, "int[]")}, {p(ends, "int[]")})
                AS at (path, node, begins, ends)
            CROSS JOIN LATERAL (
                {from_end("subject_node", "object_node", "true")}
                UNION ALL
                {from_end("object_node", "subject_node", "false")}
                ORDER BY recorded_at DESC, id, forward DESC LIMIT {limit}
            ) AS step
            ORDER BY at.path, step.recorded_at DESC, step.id, step.forward DESC
            """,
            *p.values,
        )
        return [Hop(row["path"], row["id"], row["recorded_at"], row["reached"], row["forward"]) for row in rows]


def _columns(
    fronts: Sequence[Front],
) -> tuple[list[int], list[UUID], list[UUID], list[int], list[int]]:
    """A row for each name of each path's last node. The nodes on all paths are one array; a path's part of it goes from
    a place to another, as SQL counts."""
    paths: list[int] = []
    nodes: list[UUID] = []
    visited: list[UUID] = []
    begins: list[int] = []
    ends: list[int] = []
    for place, front in enumerate(fronts):
        first = len(visited) + 1
        visited += front.visited
        for node in front.nodes:
            paths.append(place)
            nodes.append(node)
            begins.append(first)
            ends.append(len(visited))
    return paths, nodes, visited, begins, ends
