"""Use case: the entity graph of an agent as a file, read in one snapshot while it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.entities.canonical import canonical_name
from engram.entities.exporting.graphml import GraphML
from engram.entities.exporting.jsonld import JsonLd
from engram.entities.exporting.records import Format, GraphFact, GraphHead, GraphNode, GraphPair
from engram.entities.exporting.repository import PAGE, GraphExportRepository, Row
from engram.entities.graph.names import merged_entities
from engram.entities.graph.walk import Entity
from engram.entities.repository import EntityRepository
from engram.facts.merging import MergingService
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope

IDLE_SECONDS = 120.0
"""How long the snapshot may lie idle while its reader is waited for: longer than any reader is."""

FORMATS: dict[str, Format] = {"graphml": GraphML(), "jsonld": JsonLd()}

Place = Callable[[], AbstractContextManager[None]]


class GraphExportService:
    def __init__(self, database: TenantDatabase, agents: AgentService, merges: MergingService, place: Place) -> None:
        """``place`` is one among those of all exports, each of which holds a connection for as long as its reader
        takes; it raises UnavailableProblem where there is none."""
        self._database = database
        self._agents = agents
        self._merges = merges
        self._place = place
        self._audit = Audit()

    async def export(self, scope: Scope, agent_id: str, *, format: str, whole: bool) -> AsyncGenerator[bytes]:
        """The file, in pieces. The first comes when all is settled that can be refused.

        What holds now; ``whole``: with what is invalidated, too. Raises PermissionDeniedProblem for less than an admin,
        NotFoundProblem for an unknown agent, and UnavailableProblem where too many exports are under way.
        """
        scope.require(Role.admin)
        agent, now = UUID(agent_id), datetime.now(UTC)
        with self._place():
            known = await self._agents.get(scope, agent_id)
            async with self._database.transaction(scope) as connection:
                await self._audit.record(
                    connection,
                    scope,
                    Action.graph_export,
                    agent_id=agent,
                    targets=[agent],
                    details={"format": format, "all": whole},
                )
            head = GraphHead(agent, known.name, now, whole)
            async with self._database.snapshot(scope) as connection:
                rows = GraphExportRepository(connection, scope, agent, now=now, whole=whole)
                await rows.bound(IDLE_SECONDS)
                async for piece in self._pieces(connection, scope, head, rows, FORMATS[format]):
                    yield piece.encode()

    async def _pieces(
        self, connection: AsyncConnection, scope: Scope, head: GraphHead, rows: GraphExportRepository, out: Format
    ) -> AsyncIterator[str]:
        entities = EntityRepository(connection, scope)
        said = await self._merges.said(connection, scope, head.agent_id)
        groups = _Groups(await merged_entities(entities, head.agent_id, said) if said else [])
        yield out.begin(head)
        async for page in rows.entities():
            if nodes := [_node(row) for row in page if not groups.take(row)]:
                yield await asyncio.to_thread(out.nodes, nodes)
        if groups.all:
            yield out.nodes(groups.nodes())
        async for page in rows.pairs(groups.ids):
            yield await asyncio.to_thread(out.pairs, [GraphPair(**row) for row in map(_renamed, page)])
        for group in groups.all:
            pairs = groups.pairs(group, await rows.around(group.ids))
            for begin in range(0, len(pairs), PAGE):
                yield out.pairs(pairs[begin : begin + PAGE])
        async for page in rows.facts():
            names = await asyncio.to_thread(_canonical, page)
            wanted = sorted({name for pair in names for name in pair if name is not None})
            known = {row["name"]: groups.id(row["id"]) for row in await entities.by_names(head.agent_id, wanted)}
            facts = [
                _fact(row, known[near], known[far])
                for row, (near, far) in zip(page, names, strict=True)
                if near in known and far in known
            ]
            if facts:
                yield await asyncio.to_thread(out.facts, facts)
        yield out.end()


class _Groups:
    """Entities that were merged: their rows are gathered, and each group is one node."""

    def __init__(self, all: list[Entity]) -> None:
        self.all = all
        self._of = {id: entity for entity in all for id in entity.ids}
        self._rows: dict[UUID, list[Row]] = {entity.id: [] for entity in all}

    @property
    def ids(self) -> list[UUID]:
        return list(self._of)

    def id(self, id: UUID) -> UUID:
        """The node of an entity."""
        entity = self._of.get(id)
        return entity.id if entity is not None else id

    def take(self, row: Row) -> bool:
        """Keep the row of an entity that was merged; false for any other."""
        entity = self._of.get(row["id"])
        if entity is not None:
            self._rows[entity.id].append(row)
        return entity is not None

    def nodes(self) -> list[GraphNode]:
        """Under the names of the first; what is of any of them is of all."""
        made = []
        for entity in self.all:
            rows = self._rows[entity.id]
            aliases = {alias for row in rows for alias in (*row["aliases"], row["name"])} - {entity.name}
            community = next((row["community"] for row in rows if row["community"] is not None), None)
            degree = sum(row["degree"] for row in rows)
            made.append(
                GraphNode(entity.id, entity.name, entity.display_name, tuple(sorted(aliases)), degree, community)
            )
        return made

    def pairs(self, group: Entity, rows: list[Row]) -> list[GraphPair]:
        """The pairs of a group, by node; those of two groups are of the one of the lower id."""
        seen: dict[UUID, int] = {}
        for row in rows:
            other = self._of.get(row["other"])
            if other is None or group.id < other.id:
                node = self.id(row["other"])
                seen[node] = seen.get(node, 0) + row["co_occur"]
        return [
            GraphPair(*((group.id, node) if group.id < node else (node, group.id)), count)
            for node, count in sorted(seen.items())
        ]


def _node(row: Row) -> GraphNode:
    return GraphNode(**{**row, "aliases": tuple(row["aliases"])})


def _renamed(row: Row) -> Row:
    return {"first": row["first_id"], "second": row["second_id"], "co_occur": row["co_occur"]}


def _canonical(page: list[Row]) -> list[tuple[str | None, str | None]]:
    return [(canonical_name(row["subject"]), canonical_name(row["object"])) for row in page]


def _fact(row: Row, source: UUID, target: UUID) -> GraphFact:
    kept = {name: value for name, value in row.items() if name not in ("subject", "object")}
    return GraphFact(source=source, target=target, **kept)
