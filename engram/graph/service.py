"""Use cases of the memory graph."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from asyncpg import CheckViolationError
from pydantic import JsonValue, TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.graph.neighbours import Neighbourhood
from engram.graph.relations import multipliers
from engram.graph.repository import EdgeRepository
from engram.graph.schemas import Direction, Edge, EdgeCreate, EdgeDeleted, EdgePage, RelationType
from engram.graph.tuning import GraphTuning
from engram.memories.predicates import Visibility
from engram.memories.service import memory_not_found
from engram.paging import decode_cursor, encode_cursor
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

MAX_EDGES = 10_000
"""Edges of one kind that a listing looks at, strongest first."""

_CURSOR: TypeAdapter[tuple[float, RelationType, UUID, Direction]] = TypeAdapter(
    tuple[float, RelationType, UUID, Direction]
)
_DIRECTIONS = {
    Direction.out: ("out", "both"),
    Direction.incoming: ("in", "both"),
    Direction.both: ("out", "in", "both"),
}


class GraphService:
    def __init__(self, database: TenantDatabase, agents: AgentService, tuning: GraphTuning) -> None:
        self._database = database
        self._agents = agents
        self._tuning = tuning
        self._audit = Audit()

    async def get_edges(
        self,
        scope: Scope,
        memory_id: str,
        *,
        direction: Direction,
        relation_types: list[RelationType] | None,
        min_weight: float,
        as_of: datetime | None,
        limit: int,
        cursor: str | None,
    ) -> EdgePage:
        """Edges of a memory, stored and computed, each once, seen from it; strongest first.

        Raises NotFoundProblem where there is no such memory.
        """
        id = UUID(memory_id)
        after = None
        if cursor is not None:
            weight, relation, target, way = decode_cursor(cursor, _CURSOR)
            after = (weight, relation.value, target, way.value)
        async with self._database.snapshot(scope) as connection:
            edges = EdgeRepository(connection, scope)
            agent_id = (await edges.agents_of([id])).get(id)
            if agent_id is None:
                raise memory_not_found(memory_id)
            around = self._around(scope, agent_id, relation_types, as_of)
            rows = await edges.of_memory(
                id,
                around,
                directions=_DIRECTIONS[direction],
                min_weight=min_weight,
                limit=limit + 1,
                after=after,
            )
        data = [_edge(row) for row in rows[:limit]]
        last = data[-1] if len(rows) > limit else None
        return EdgePage(
            data=data,
            next_cursor=encode_cursor(
                last.weight, last.relation_type.value, last.target_memory_id, last.direction.value
            )
            if last
            else None,
        )

    async def create_edge(self, scope: Scope, request: EdgeCreate) -> Edge:
        """Assert an edge. Raises NotFoundProblem where an end is missing, InvalidInputProblem across agents."""
        source, target = UUID(request.source_id), UUID(request.target_id)
        try:
            async with self._database.transaction(scope) as connection:
                agent_id = await self._agent_of_both(connection, scope, request.source_id, request.target_id)
                edges = EdgeRepository(connection, scope)
                await edges.assert_edge(agent_id, request, datetime.now(UTC))
                row = await edges.asserted(agent_id, source, target, request.relation_type)
                await self._note(connection, scope, Action.edge_create, agent_id, source, target, request.relation_type)
        except CheckViolationError:
            raise InvalidInputProblem.of(
                "valid_until", "must be later than the valid_from that the edge has already"
            ) from None
        return Edge.model_validate({**row, "decay_multiplier": multipliers()[request.relation_type.value]})

    async def delete_edge(
        self, scope: Scope, source_id: str, target_id: str, relation_type: RelationType
    ) -> EdgeDeleted:
        """Close a stored edge. Raises NotFoundProblem where none stands."""
        now = datetime.now(UTC)
        async with self._database.transaction(scope) as connection:
            agent_id = await self._agent_of_both(connection, scope, source_id, target_id)
            closed = await EdgeRepository(connection, scope).invalidate(
                agent_id, UUID(source_id), UUID(target_id), relation_type, now
            )
            if closed:
                ends = UUID(source_id), UUID(target_id)
                await self._note(connection, scope, Action.edge_delete, agent_id, *ends, relation_type)
        if not closed:
            raise NotFoundProblem(_no_edge(source_id, target_id, relation_type))
        return EdgeDeleted(source_id=source_id, target_id=target_id, relation_type=relation_type, invalidated_at=now)

    async def _agent_of_both(self, connection: AsyncConnection, scope: Scope, source_id: str, target_id: str) -> UUID:
        agents = await EdgeRepository(connection, scope).agents_of([UUID(source_id), UUID(target_id)])
        for id in (source_id, target_id):
            if UUID(id) not in agents:
                raise memory_not_found(id)
        if agents[UUID(source_id)] != agents[UUID(target_id)]:
            raise InvalidInputProblem.of("target_id", "belongs to another agent than source_id")
        agent_id = agents[UUID(source_id)]
        await self._agents.hold(connection, scope, agent_id)
        return agent_id

    async def _note(
        self,
        connection: AsyncConnection,
        scope: Scope,
        action: Action,
        agent_id: UUID,
        source: UUID,
        target: UUID,
        relation: RelationType,
    ) -> None:
        details: dict[str, JsonValue] = {"relation_type": relation.value}
        await self._audit.record(
            connection, scope, action, agent_id=agent_id, targets=[source, target], details=details
        )

    def _around(
        self, scope: Scope, agent_id: UUID, relation_types: list[RelationType] | None, as_of: datetime | None
    ) -> Neighbourhood:
        return Neighbourhood(
            tenant_id=scope.tenant_id,
            agent_id=agent_id,
            visibility=Visibility(now=datetime.now(UTC), as_of=as_of),
            multipliers=multipliers(relation_types),
            fan_out=MAX_EDGES,
            tuning=self._tuning,
        )


def _edge(row: dict[str, Any]) -> Edge:
    return Edge.model_validate(
        {
            **row,
            "source_memory_id": row["source_id"],
            "target_memory_id": row["target_id"],
            "decay_multiplier": row["multiplier"],
        }
    )


def _no_edge(source_id: str, target_id: str, relation_type: RelationType) -> str:
    computed = {
        RelationType.temporal: " Links between neighbours in a session are computed, and cannot be deleted one by one.",
        RelationType.entity_link: " Links through a shared entity are computed, and cannot be deleted one by one.",
    }
    return (
        f"No stored {relation_type.value} edge runs from {source_id} to {target_id}.{computed.get(relation_type, '')}"
    )
