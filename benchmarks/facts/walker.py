"""The walk over the database from one node that is named, where ``FactGraph.traverse`` would begin."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.facts import Edge, Path
from engram.facts.keys import node_key
from engram.facts.known import Believed
from engram.facts.merges import Groups
from engram.facts.names import node_name
from engram.facts.repository import FactFilter, FactRepository
from engram.facts.rows import stored
from engram.facts.schemas import Fact
from engram.facts.walk import walk
from engram.facts.walking import FactWalkRepository
from engram.services import Services
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE

_ANY = "whatever"
_PAGE = 1000


class Walker:
    """Reads the facts of no user of one agent."""

    def __init__(self, services: Services, agent_id: UUID) -> None:
        self._database = TenantDatabase(services.database)
        self._facts = services.facts
        self._agent_id = agent_id

    async def walk(self, start: str, *, hops: int, limit: int) -> list[Path]:
        """The first paths from the node of this name."""
        believed = Believed.of(DEFAULT_SCOPE.tenant_id, self._agent_id, valid_at=None, known_at=None)
        async with self._database.snapshot(DEFAULT_SCOPE) as connection:
            reads = _FromOne(connection, believed, node_key(None, node_name(start)))
            trails, _ = await walk(reads, _ANY, user_id=None, groups=Groups(), hops=hops, limit=limit)
            ids = {hop.fact_id for trail in trails for hop in trail.hops}
            rows = await FactRepository(connection, DEFAULT_SCOPE).by_ids(self._agent_id, ids)
        edges = {}
        for id, row in rows.items():
            fact = stored(row)
            edges[id] = Edge(node_name(fact.subject), fact.predicate, node_name(fact.object), fact)
        return [
            Path(tuple(edges[hop.fact_id] for hop in trail.hops), tuple(hop.forward for hop in trail.hops))
            for trail in trails
        ]

    async def facts(self) -> list[Fact]:
        """All of them."""
        found: list[Fact] = []
        cursor: str | None = None
        while True:
            page = await self._facts.query(
                DEFAULT_SCOPE,
                str(self._agent_id),
                FactFilter(user_id=None),
                valid_at=None,
                known_at=None,
                limit=_PAGE,
                cursor=cursor,
            )
            found += page.data
            cursor = page.next_cursor
            if cursor is None:
                return found


class _FromOne(FactWalkRepository):
    """Reads of a walk that begins at one node, whatever is asked."""

    def __init__(self, connection: AsyncConnection, believed: Believed, node: UUID) -> None:
        super().__init__(connection, believed)
        self._node = node

    async def nodes_of(self, words: Collection[UUID]) -> list[UUID]:
        return [self._node]
