"""SQL of edges. Scope: every statement names the agent, whose tenant was checked; look-ups by id name the tenant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.graph.assertions import stored_ends
from engram.graph.decay import Decay
from engram.graph.history import known_from
from engram.graph.listing import After, EdgeFilter, listing
from engram.graph.neighbours import Neighbourhood
from engram.graph.schemas import RelationType
from engram.memories.known import memories
from engram.memories.vectors import LINK_SETTINGS, VectorIndex
from engram.tenants.scope import Scope

_SAME = 1e-4
"""Cosines of the same vectors differ by less, however they are computed."""

_VECTOR_HEADER = 4
"""Bytes before the numbers of a vector as pgvector sends it."""


@dataclass(frozen=True, slots=True)
class NewEdge:
    source_id: UUID
    target_id: UUID
    relation_type: RelationType
    weight: float
    similarity: float
    """The cosine of the vectors that it was found by."""


@dataclass(frozen=True, slots=True)
class AskedAgent:
    id: UUID
    decay: Decay
    """What a hop costs in its graph."""


class EdgeRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def agents_of(self, memory_ids: Collection[UUID]) -> dict[UUID, UUID]:
        """The agent of each of these memories that stands."""
        rows = await self._driver.fetch(
            f"""
            SELECT id, agent_id FROM memories
            WHERE id = ANY ($1::uuid[]) AND tenant_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)
                AND status <> 'deleted' AND {of_seen_agent("memories")}
            """,
            list(memory_ids),
            self._tenant_id,
            self._only,
        )
        return {row["id"]: row["agent_id"] for row in rows}

    async def link(self, agent_id: UUID, edges: Sequence[NewEdge], *, origin: str) -> None:
        """Write edges that we found. One that stands keeps the greater weight; one that was deleted stays so."""
        best: dict[tuple[UUID, UUID, str], NewEdge] = {}
        for edge in edges:
            ends = stored_ends(edge.source_id, edge.target_id, edge.relation_type)
            place = (*ends, edge.relation_type.value)
            if place not in best or best[place].weight < edge.weight:
                best[place] = edge
        # By numbers: to compare UUIDs by themselves takes a call in Python each time.
        rows = sorted(best.items(), key=lambda edge: (edge[0][0].int, edge[0][1].int, edge[0][2]))
        # Memories before edges, as whoever changes one takes them: its text does not change until this is done.
        await self._driver.execute(
            """
            SELECT FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])
            ORDER BY id FOR SHARE
            """,
            agent_id,
            self._tenant_id,
            list({id for (source, target, _), _ in rows for id in (source, target)}),
        )
        # Only between memories that are as they were: one may have been erased, or say something else, since they were
        # found near each other. What says something else is owed its links anew.
        await self._driver.execute(
            f"""
            INSERT INTO edges AS edge (
                agent_id, tenant_id, source_id, target_id, relation_type, weight, origin, updated_at
            )
            SELECT $1, $2, new.source_id, new.target_id, new.relation_type, new.weight, $7, {known_from("new", "now()")}
            FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::float8[], $8::float8[])
                AS new (source_id, target_id, relation_type, weight, similarity)
            JOIN memories s ON s.agent_id = $1 AND s.tenant_id = $2 AND s.id = new.source_id
            JOIN memories t ON t.agent_id = $1 AND t.tenant_id = $2 AND t.id = new.target_id
            WHERE s.embedding_model_id = t.embedding_model_id AND s.sensitivity = 'normal' AND t.sensitivity = 'normal'
                AND abs(1 - (s.embedding <=> t.embedding) - new.similarity) < {_SAME}
            ORDER BY new.source_id, new.target_id, new.relation_type
            ON CONFLICT (agent_id, source_id, target_id, relation_type) DO UPDATE
            SET weight = excluded.weight
            WHERE edge.invalidated_at IS NULL AND edge.weight < excluded.weight AND edge.origin = excluded.origin
            """,
            agent_id,
            self._tenant_id,
            [source for (source, _, _), _ in rows],
            [target for (_, target, _), _ in rows],
            [relation for (_, _, relation), _ in rows],
            [edge.weight for _, edge in rows],
            origin,
            [edge.similarity for _, edge in rows],
        )

    async def agent_of(self, memory_id: UUID, known_at: datetime | None, decay: Decay) -> AskedAgent | None:
        """The agent of a memory that stands, or that stood as far as was known at an instant; ``decay`` is the
        server's."""
        p = Parameters()
        only = "" if self._only is None else f" AND m.agent_id = {p(self._only, 'uuid')}"
        row = await self._driver.fetchrow(
            f"""
            SELECT a.id, a.decay_multipliers, a.hop_penalty
            FROM (
                SELECT m.agent_id FROM {memories(known_at, p)} m
                WHERE m.id = {p(memory_id, "uuid")} AND m.tenant_id = {p(self._tenant_id, "uuid")}{only}
                    AND m.status <> 'deleted'
                LIMIT 1
            ) AS m
            JOIN agents a ON a.id = m.agent_id AND a.tenant_id = {p(self._tenant_id, "uuid")} AND NOT a.importing
            """,
            *p.values,
        )
        if row is None:
            return None
        return AskedAgent(row["id"], decay.changed(row["decay_multipliers"], row["hop_penalty"]))

    async def decay(self, agent_id: UUID, decay: Decay) -> Decay:
        """What a hop costs in the graph of an agent that is held; ``decay`` is the server's."""
        row = await self._driver.fetchrow(
            "SELECT decay_multipliers, hop_penalty FROM agents WHERE id = $1 AND tenant_id = $2",
            agent_id,
            self._tenant_id,
        )
        assert row is not None  # held
        return decay.changed(row["decay_multipliers"], row["hop_penalty"])

    async def of_memory(
        self, memory_id: UUID, around: Neighbourhood, wanted: EdgeFilter, *, limit: int, after: After | None
    ) -> list[dict[str, Any]]:
        """Edges of a memory, each once, strongest first; after (weight, relation, target, direction)."""
        statement = listing(memory_id, around, wanted, limit=limit, after=after)
        return [dict(row) for row in await self._driver.fetch(statement, *around.p.values)]

    async def vectors(self, agent_id: UUID, index: VectorIndex, min_bytes: int) -> tuple[list[UUID], bytes]:
        """Ids and embeddings of the agent's current memories of at least ``min_bytes``, in no order, without sensitive
        ones.

        The embeddings are numbers of four bytes, the highest first, one vector behind the other: thousands of values
        read one by one would keep the event loop for longer than the search takes.
        """
        row = await self._driver.fetchrow(
            f"""
            SELECT array_agg(m.id) AS ids,
                string_agg(substr(vector_send(m.embedding), {_VECTOR_HEADER + 1:d}), '') AS vectors
            FROM memories m
            WHERE m.agent_id = $1 AND m.tenant_id = $3 AND m.status = 'current' AND {index.of_model("m")}
                AND octet_length(m.content) >= $2 AND m.sensitivity = 'normal'
            """,
            agent_id,
            min_bytes,
            self._tenant_id,
        )
        assert row is not None  # aggregates give one row always
        return row["ids"] or [], row["vectors"] or b""

    async def nearest(
        self,
        agent_id: UUID,
        memory_ids: Sequence[UUID],
        index: VectorIndex,
        degree: int,
        min_bytes: int,
        *,
        indexed: bool,
    ) -> list[tuple[UUID, UUID, float]]:
        """For each of these memories its nearest current ones, as ``(id, neighbour, cosine)``.

        Memories of fewer than ``min_bytes`` are passed over on both sides, and so are sensitive ones.
        """
        if indexed:
            await self._driver.fetch(f"SELECT {LINK_SETTINGS}")
        distance = index.distance("m", "new.embedding", indexed=indexed)
        rows = await self._driver.fetch(
            f"""
            SELECT new.id, near.id AS neighbour, 1 - near.distance AS similarity
            FROM memories new
            CROSS JOIN LATERAL (
                SELECT m.id, {index.distance("m", "new.embedding", indexed=False)} AS distance
                FROM memories m
                WHERE m.agent_id = $1 AND m.tenant_id = $4 AND m.status = 'current' AND {index.of_model("m")}
                    AND m.id <> new.id AND octet_length(m.content) >= $3 AND m.sensitivity = 'normal'
                ORDER BY {distance} LIMIT {degree:d}
            ) AS near
            WHERE new.agent_id = $1 AND new.tenant_id = $4 AND new.id = ANY ($2::uuid[]) AND new.status = 'current'
                AND {index.of_model("new")} AND near.distance <> 'NaN' AND octet_length(new.content) >= $3
                AND new.sensitivity = 'normal'
            """,
            agent_id,
            list(memory_ids),
            min_bytes,
            self._tenant_id,
        )
        return [(row["id"], row["neighbour"], row["similarity"]) for row in rows]
