"""Use cases of communities: compute them, and read them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.entities.communities.computing import CommunityTuning, computed
from engram.entities.communities.repository import CHUNK, CommunityRepository
from engram.entities.communities.schemas import Communities, Community
from engram.entities.graph.names import merged_entities
from engram.entities.graph.walk import Entity
from engram.entities.repository import EntityRepository
from engram.facts.merging import MergingService
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Graph:
    """What an agent's entities were when they were read. ``ids`` are bytes, sixteen each: there may be many."""

    read_at: datetime
    ids: bytearray
    portions: list[Numbers]
    """Rows of first, second, co_occur."""
    merged: list[Entity]

    def id(self, place: int) -> UUID:
        return UUID(bytes=bytes(self.ids[16 * place : 16 * place + 16]))

    def hex(self, place: int) -> str:
        """The same id as text. Of the many that are written no objects are made, which takes longer than all else that
        the event loop does for them."""
        return self.ids[16 * place : 16 * place + 16].hex()

    @property
    def count(self) -> int:
        return len(self.ids) // 16


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Merged entities are one node, at the place of the first of them that occurs with any."""

    place_of: Numbers
    """To the place of each entity that of its node."""
    names: dict[int, UUID]
    """To the places of merged ones the entity whose name they go by."""
    beside: list[tuple[UUID, int]]
    """Those of them that occur with none themselves, and the places of their nodes."""


class CommunityService:
    def __init__(
        self, database: TenantDatabase, agents: AgentService, merges: MergingService, tuning: CommunityTuning
    ) -> None:
        self._database = database
        self._agents = agents
        self._merges = merges
        self._tuning = tuning
        # One graph at a time is held in memory.
        self._turn = asyncio.Lock()

    async def compute(self, scope: Scope, agent_id: UUID) -> int:
        """Put an agent's entities into communities, in place of those they were in; how many are in one.

        Read in one snapshot and written in one transaction; in between no connection is held. What is steady counts:
        observations of memories that hold with no end in sight. Raises CommunitiesFailed, and NotFoundProblem where
        the agent is gone.
        """
        async with self._turn:
            graph = await self._read(scope, agent_id)
            nodes = await asyncio.to_thread(_nodes, graph)
            first, second, weight = await asyncio.to_thread(_ordered, graph.portions, nodes.place_of)
            levels, dropped = await computed(first, second, weight, graph.count, self._tuning)
            async with self._database.transaction(scope) as connection:
                await self._agents.hold(connection, scope, agent_id)
                communities = CommunityRepository(connection, scope, agent_id)
                await communities.clear()
                placed = 0
                for level, strongest in enumerate(levels):
                    for rows in _rows(graph, nodes, strongest):
                        await communities.add(level, rows)
                        placed += len(rows) if level == 0 else 0
                await communities.note(graph.read_at, entities=placed, dropped=dropped, levels=len(levels))
        return placed

    async def largest(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, *, level: int, limit: int, members: int
    ) -> Communities:
        """The largest communities of an agent, in a snapshot of another use case, which has found the agent."""
        communities = CommunityRepository(connection, scope, agent_id)
        run = await communities.run()
        rows = await communities.largest(level, limit=limit, members=members) if run is not None else []
        return Communities(
            computed_at=run["computed_at"] if run is not None else None,
            levels=run["levels"] if run is not None else 0,
            level=level,
            data=[
                Community(
                    id=row["name"], display_name=row["display_name"], entities=row["entities"], members=row["members"]
                )
                for row in rows
            ],
        )

    async def fellows(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, entity_ids: Sequence[UUID], limit: int
    ) -> list[Entity]:
        """Others of the communities that these entities are in, those that occur most first; none where none were
        computed. In a snapshot of another use case, which has found the agent."""
        rows = await CommunityRepository(connection, scope, agent_id).fellows(entity_ids, limit)
        return [Entity(row["id"], (row["id"],), row["name"], row["display_name"]) for row in rows]

    async def _read(self, scope: Scope, agent_id: UUID) -> _Graph:
        read_at, ids = datetime.now(UTC), bytearray()
        async with self._database.snapshot(scope) as connection:
            said = await self._merges.said(connection, scope, agent_id)
            merged = await merged_entities(EntityRepository(connection, scope), agent_id, said) if said else []
            communities = CommunityRepository(connection, scope, agent_id)
            async for chunk in communities.entities():
                ids += b"".join(id.bytes for id in chunk)
            portions = [rows async for rows in communities.pairs(await communities.least())]
        return _Graph(read_at, ids, portions, merged)


def _nodes(graph: _Graph) -> _Nodes:
    place_of = np.arange(graph.count, dtype=np.int64)
    wanted = {id for entity in graph.merged for id in entity.ids}
    places = {id: place for place in range(graph.count) if (id := graph.id(place)) in wanted} if wanted else {}
    names, beside = {}, list[tuple[UUID, int]]()
    for entity in graph.merged:
        there = [places[id] for id in entity.ids if id in places]
        if there:
            place_of[there] = there[0]
            names[there[0]] = entity.id
            beside += [(id, there[0]) for id in entity.ids if id not in places]
    return _Nodes(place_of, names, beside)


def _ordered(portions: list[Numbers], node: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The pairs of nodes, each once, in one order whatever the order in which they were read."""
    pairs = np.concatenate([np.empty((0, 3), np.int64), *portions])
    near, far = node[pairs[:, 0]], node[pairs[:, 1]]
    apart = near != far
    count = max(len(node), 1)
    keys, place = np.unique(np.minimum(near, far)[apart] * count + np.maximum(near, far)[apart], return_inverse=True)
    weight = np.bincount(place, pairs[apart, 2], minlength=len(keys)).astype(np.int64)
    return keys // count, keys % count, weight


def _rows(graph: _Graph, nodes: _Nodes, strongest: Numbers) -> Iterator[list[tuple[str, str]]]:
    """Ids of entities and of the strongest members of their communities, in portions."""
    community = strongest[nodes.place_of]
    places: list[int] = np.flatnonzero(community >= 0).tolist()

    def name(place: int) -> str:
        merged = nodes.names.get(place)
        return merged.hex if merged is not None else graph.hex(place)

    for begin in range(0, len(places), CHUNK):
        yield [(graph.hex(place), name(int(community[place]))) for place in places[begin : begin + CHUNK]]
    yield [(id.hex, name(int(strongest[place]))) for id, place in nodes.beside if strongest[place] >= 0]
