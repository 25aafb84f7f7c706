"""Thematic links of new memories."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from engram.agents.service import AgentService
from engram.graph.assertions import stored_ends
from engram.graph.found import FoundEdges
from engram.graph.repository import EdgeRepository, NewEdge
from engram.graph.schemas import RelationType
from engram.graph.thematic import nearest, weight
from engram.graph.tuning import GraphTuning
from engram.memories.projections import Settle
from engram.memories.vectors import VectorIndex
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

MATRIX_FROM = 16
"""From this many new memories on, one matrix product beats a query for each."""

MATRIX_ROWS = 20
"""Up to this many memories of the agent for each new one, it also beats a search of the index for each."""

MATRIX_LIMIT = 5_000_000
"""Up to this many numbers, memories times dimensions, an agent's vectors are read for it: 20 MB."""

STALE_AT_ONCE = 200
"""Far ends of links that are asked at once why they are there."""


class ThematicProjection:
    """Links each new memory to its nearest of the agent, those of its own batch included. Very short ones are not."""

    name = "thematic"

    def __init__(
        self, database: TenantDatabase, agents: AgentService, index: VectorIndex, threshold: float, tuning: GraphTuning
    ) -> None:
        self._database = database
        self._agents = agents
        self._index = index
        self._threshold = threshold
        self._degree = tuning.thematic_degree
        self._min_bytes = tuning.thematic_min_bytes

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        found = await self._near(scope, agent_id, memory_ids)
        links = [
            NewEdge(source, target, RelationType.thematic, weight(similarity, self._threshold), similarity)
            for source, target, similarity in found
        ]
        async with self._database.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            await EdgeRepository(connection, scope).link(agent_id, links, origin="thematic")
            await settle(connection)

    async def remove_stale(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        """Of the links whose stored source is one of these memories, remove those that neither end would make now, and
        set the weights of the others. What a client asserted or deleted stays as it is."""
        async with self._database.snapshot(scope) as connection:
            standing = await FoundEdges(connection, scope).between_current(agent_id, memory_ids, self._index)
        best: dict[tuple[UUID, UUID], float] = {}
        await self._explain(scope, agent_id, memory_ids, best)
        # Of the others, the far end may be why.
        unexplained = sorted({edge.target_id for edge in standing if edge.ends not in best})
        for start in range(0, len(unexplained), STALE_AT_ONCE):
            await self._explain(scope, agent_id, unexplained[start : start + STALE_AT_ONCE], best)
        stale = [edge for edge in standing if edge.ends not in best]
        async with self._database.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            await FoundEdges(connection, scope).remove(agent_id, stale, datetime.now(UTC))
        # Apart: each takes its rows in their order, and both together would not.
        weights = [(edge, best[edge.ends]) for edge in standing if edge.ends in best]
        async with self._database.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            await FoundEdges(connection, scope).reweigh(agent_id, weights)

    async def _explain(
        self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], best: dict[tuple[UUID, UUID], float]
    ) -> None:
        """Add the links of these memories, by their stored ends, with their weights."""
        for source, target, similarity in await self._near(scope, agent_id, memory_ids):
            ends = stored_ends(source, target, RelationType.thematic)
            best[ends] = max(best.get(ends, 0.0), weight(similarity, self._threshold))

    async def _near(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> list[tuple[UUID, UUID, float]]:
        """Each of these memories with its nearest above the threshold, as ``(id, neighbour, cosine)``."""
        async with self._database.snapshot(scope) as connection:
            counts = await self._agents.sizes(connection, scope, agent_id)
            edges = EdgeRepository(connection, scope)
            indexed = self._index.serves(counts.memories, counts.stored)
            by_matrix = (
                len(memory_ids) >= MATRIX_FROM
                and counts.memories * self._index.dimension <= MATRIX_LIMIT
                and not (indexed and counts.memories > MATRIX_ROWS * len(memory_ids))
            )
            if by_matrix:
                ids, vectors = await edges.vectors(agent_id, self._index, self._min_bytes)
            else:
                pairs = await edges.nearest(
                    agent_id,
                    memory_ids,
                    self._index,
                    self._degree,
                    self._min_bytes,
                    indexed=indexed,
                )
        if by_matrix:
            pairs = await asyncio.to_thread(self._from_matrix, ids, vectors, set(memory_ids))
        return [pair for pair in pairs if pair[2] > self._threshold]

    def _from_matrix(self, ids: list[UUID], packed: bytes, new: set[UUID]) -> list[tuple[UUID, UUID, float]]:
        if not ids:
            return []
        # By age, so that of equally near ones the same are taken whatever order the database reads them in.
        order = sorted(range(len(ids)), key=[id.int for id in ids].__getitem__)
        vectors = np.frombuffer(packed, dtype=">f4").reshape(len(ids), -1).astype(np.float32)[order]
        ids = [ids[place] for place in order]
        rows = np.array([place for place, id in enumerate(ids) if id in new], dtype=np.intp)
        found = nearest(vectors, rows, self._threshold, self._degree)
        return [(ids[source], ids[target], similarity) for source, target, similarity in found]
