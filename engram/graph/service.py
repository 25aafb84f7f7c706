"""Use cases of the memory graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue, TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.graph.assertions import Asserted, EdgeAssertions, ImpossibleWindow, key_of
from engram.graph.listing import MAX_EDGES, EdgeFilter
from engram.graph.neighbours import Neighbourhood
from engram.graph.relations import multipliers
from engram.graph.repository import EdgeRepository
from engram.graph.schemas import (
    Direction,
    Edge,
    EdgeBatch,
    EdgeCreate,
    EdgeDeleted,
    EdgePage,
    EdgesCreated,
    EdgeWritten,
    RelationType,
)
from engram.graph.tuning import GraphTuning
from engram.memories.predicates import Visibility
from engram.memories.service import memory_not_found
from engram.paging import decode_cursor, encode_cursor
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

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
        known_at: datetime | None = None,
        label: str | None = None,
        origins: list[str] | None = None,
        include_invalidated: bool = False,
    ) -> EdgePage:
        """Edges of a memory, stored and computed, each once, seen from it; strongest first.

        Raises NotFoundProblem where there is no such memory, or was none as far as was known.
        """
        id = UUID(memory_id)
        after = None
        if cursor is not None:
            weight, relation, target, way = decode_cursor(cursor, _CURSOR)
            after = (weight, relation.value, target, way.value)
        async with self._database.snapshot(scope) as connection:
            edges = EdgeRepository(connection, scope)
            agent_id = await edges.agent_of(id, known_at)
            if agent_id is None:
                raise memory_not_found(memory_id)
            around = self._around(scope, agent_id, relation_types, as_of, known_at)
            wanted = EdgeFilter(
                directions=_DIRECTIONS[direction],
                min_weight=min_weight,
                label=label,
                origins=origins,
                include_closed=include_invalidated,
            )
            rows = await edges.of_memory(id, around, wanted, limit=limit + 1, after=after)
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
        async with self._database.transaction(scope) as connection:
            agent_id = await self._agent_of(connection, scope, [request], "{1}")
            (written,) = await _written(connection, scope, agent_id, [request], "valid_until")
            ends = [UUID(request.source_id), UUID(request.target_id)]
            details: dict[str, JsonValue] = {"relation_type": request.relation_type.value}
            await self._note(connection, scope, Action.edge_create, agent_id, ends, details)
        return _edge(self._with_multiplier(written.row))

    async def create_edges(self, scope: Scope, request: EdgeBatch) -> EdgesCreated:
        """Assert edges of one agent, wholly or not at all; the answer says per edge what became of it."""
        async with self._database.transaction(scope) as connection:
            agent_id = await self._agent_of(connection, scope, request.edges, "edges.{0}.{1}")
            written = await _written(connection, scope, agent_id, request.edges, "edges.{}.valid_until")
            ends = {UUID(id) for edge in request.edges for id in (edge.source_id, edge.target_id)}
            details: dict[str, JsonValue] = {"edges": len({key_of(edge) for edge in request.edges})}
            await self._note(connection, scope, Action.edge_create, agent_id, sorted(ends), details)
        results = [
            EdgeWritten.model_validate({**_shown(self._with_multiplier(edge.row)), "created": edge.created})
            for edge in written
        ]
        new = {key_of(asked) for asked, edge in zip(request.edges, written, strict=True) if edge.created}
        return EdgesCreated(results=results, created=len(new))

    async def delete_edge(
        self, scope: Scope, source_id: str, target_id: str, relation_type: RelationType
    ) -> EdgeDeleted:
        """Close a stored edge. Raises NotFoundProblem where none stands."""
        ends = UUID(source_id), UUID(target_id)
        async with self._database.transaction(scope) as connection:
            agent_id = await self._agent_of_ends(connection, scope, [(source_id, target_id)], "{1}")
            closed = await EdgeAssertions(connection, scope).invalidate(
                agent_id, *ends, relation_type, datetime.now(UTC)
            )
            if closed is not None:
                details: dict[str, JsonValue] = {"relation_type": relation_type.value}
                await self._note(connection, scope, Action.edge_delete, agent_id, ends, details)
        if closed is None:
            raise NotFoundProblem(_no_edge(source_id, target_id, relation_type))
        return EdgeDeleted(source_id=source_id, target_id=target_id, relation_type=relation_type, invalidated_at=closed)

    async def _agent_of(
        self, connection: AsyncConnection, scope: Scope, edges: Sequence[EdgeCreate], field: str
    ) -> UUID:
        return await self._agent_of_ends(connection, scope, [(edge.source_id, edge.target_id) for edge in edges], field)

    async def _agent_of_ends(
        self, connection: AsyncConnection, scope: Scope, ends: Sequence[tuple[str, str]], field: str
    ) -> UUID:
        """The one agent of all these ends, held; ``field`` names a place and an end in what is refused."""
        agents = await EdgeRepository(connection, scope).agents_of({UUID(id) for pair in ends for id in pair})
        agent_id = agents.get(UUID(ends[0][0]))
        for place, pair in enumerate(ends):
            for id in pair:
                if UUID(id) not in agents:
                    raise memory_not_found(id)
            for name, id in zip(("source_id", "target_id"), pair, strict=True):
                if agents[UUID(id)] != agent_id:
                    first = "source_id" if place == 0 else "the first edge"
                    raise InvalidInputProblem.of(field.format(place, name), f"belongs to another agent than {first}")
        assert agent_id is not None  # every end was found
        await self._agents.hold(connection, scope, agent_id)
        return agent_id

    async def _note(
        self,
        connection: AsyncConnection,
        scope: Scope,
        action: Action,
        agent_id: UUID,
        ends: Sequence[UUID],
        details: Mapping[str, JsonValue],
    ) -> None:
        await self._audit.record(connection, scope, action, agent_id=agent_id, targets=ends, details=details)

    def _with_multiplier(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "multiplier": multipliers()[row["relation_type"]]}

    def _around(
        self,
        scope: Scope,
        agent_id: UUID,
        relation_types: list[RelationType] | None,
        as_of: datetime | None,
        known_at: datetime | None,
    ) -> Neighbourhood:
        return Neighbourhood(
            tenant_id=scope.tenant_id,
            agent_id=agent_id,
            visibility=Visibility(now=datetime.now(UTC), as_of=as_of, known_at=known_at),
            multipliers=multipliers(relation_types),
            fan_out=MAX_EDGES,
            tuning=self._tuning,
        )


async def _written(
    connection: AsyncConnection, scope: Scope, agent_id: UUID, edges: Sequence[EdgeCreate], field: str
) -> list[Asserted]:
    try:
        return await EdgeAssertions(connection, scope).write(agent_id, edges, datetime.now(UTC))
    except ImpossibleWindow as error:
        raise InvalidInputProblem.of(
            field.format(error.place), "must be later than the valid_from that the edge has already"
        ) from None


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "source_memory_id": row["source_id"],
        "target_memory_id": row["target_id"],
        "decay_multiplier": row["multiplier"],
    }


def _edge(row: dict[str, Any]) -> Edge:
    return Edge.model_validate(_shown(row))


def _no_edge(source_id: str, target_id: str, relation_type: RelationType) -> str:
    computed = {
        RelationType.temporal: " Links between neighbours in a session are computed, and cannot be deleted one by one.",
        RelationType.entity_link: " Links through a shared entity are computed, and cannot be deleted one by one.",
    }
    return (
        f"No stored {relation_type.value} edge runs from {source_id} to {target_id}.{computed.get(relation_type, '')}"
    )
