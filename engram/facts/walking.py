"""SQL of walks over the fact graph: where they begin, and one hop at a time.

Of the ways to go on from a path only the first few can be among the first paths, in the order of ``facts.ranking``: so
many are read, through an index that has them in that order, and no more, and of those of all paths only the first leave
the database. What a walk costs follows its answer, and not the degree of the nodes that it meets. Scope: every
statement names the tenant and the agent; nodes and words are known by keys that hold the user.
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
    """A path by what tells how it goes on, and by its place among the others."""

    nodes: Sequence[UUID]
    """The last node; where it was merged each of its names."""
    visited: Sequence[UUID]
    """All nodes on the path."""
    newest: datetime | None
    """When the newest of its facts was recorded; None before the first hop."""
    place: int
    """Its place in the order of the facts on the paths, hop by hop. Paths over the same facts share one."""
    turn: int
    """Its place among those in the order of their directions."""


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
            SELECT DISTINCT named.node FROM unnest({p(list(words), "uuid[]")}) AS asked (word)
            CROSS JOIN LATERAL (
                -- The first of all are among the first of each.
                SELECT w.node FROM fact_words w WHERE {self._believed.mine("w", p)} AND w.word = asked.word
                ORDER BY w.node LIMIT {MAX_SEEDS + 1:d}
            ) AS named
            ORDER BY named.node LIMIT {MAX_SEEDS + 1:d}
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
            # Not EXISTS: for many nodes that is planned as a hash of all facts that the agent holds.
            return f"(SELECT true FROM {facts} f WHERE {seen} AND f.{end} = asked.node LIMIT 1) IS TRUE"

        rows = await self._driver.fetch(
            f"""
            SELECT asked.node FROM unnest({p(list(nodes), "uuid[]")}) AS asked (node)
            WHERE {names("subject_node")} OR {names("object_node")}
            """,
            *p.values,
        )
        return [row["node"] for row in rows]

    async def hop(self, fronts: Sequence[Front], most: int, wanted: int) -> list[Hop]:
        """Ways to go on from each path to nodes that are not on it: of each path the first ``most``, of all these the
        first ``wanted``, in the order of the longer paths that they make."""
        p = Parameters()
        rows_of = _Columns(fronts)
        on_path = f"ALL (({p(rows_of.visited, 'uuid[]')})[at.begins:at.ends])"
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
            FROM unnest({p(rows_of.paths, "int[]")}, {p(rows_of.nodes, "uuid[]")}, {p(rows_of.begins, "int[]")},
                {p(rows_of.ends, "int[]")}, {p(rows_of.newest, "timestamptz[]")}, {p(rows_of.places, "int[]")},
                {p(rows_of.turns, "int[]")}) AS at (path, node, begins, ends, newest, place, turn)
            CROSS JOIN LATERAL (
                {from_end("subject_node", "object_node", "true")}
                UNION ALL
                {from_end("object_node", "subject_node", "false")}
                ORDER BY recorded_at DESC, id, forward DESC LIMIT {limit}
            ) AS step
            ORDER BY greatest(at.newest, step.recorded_at) DESC, at.place, step.recorded_at DESC, step.id, at.turn,
                step.forward DESC
            LIMIT {p(wanted, "bigint")}
            """,
            *p.values,
        )
        return [Hop(row["path"], row["id"], row["recorded_at"], row["reached"], row["forward"]) for row in rows]


class _Columns:
    """A row for each name of each path's last node. The nodes on all paths are one array; a path's part of it goes from
    a place to another, as SQL counts."""

    def __init__(self, fronts: Sequence[Front]) -> None:
        self.paths: list[int] = []
        self.nodes: list[UUID] = []
        self.visited: list[UUID] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.newest: list[datetime | None] = []
        self.places: list[int] = []
        self.turns: list[int] = []
        for path, front in enumerate(fronts):
            first = len(self.visited) + 1
            self.visited += front.visited
            for node in front.nodes:
                self.paths.append(path)
                self.nodes.append(node)
                self.begins.append(first)
                self.ends.append(len(self.visited))
                self.newest.append(front.newest)
                self.places.append(front.place)
                self.turns.append(front.turn)
