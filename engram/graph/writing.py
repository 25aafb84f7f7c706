"""Use cases that change edges: asserting them, one or many, and deleting one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.graph.assertions import Asserted, EdgeAssertions, ImpossibleWindow, key_of
from engram.graph.decay import Decay
from engram.graph.repository import EdgeRepository
from engram.graph.rows import edge_of, fields_of
from engram.graph.schemas import Edge, EdgeBatch, EdgeCreate, EdgeDeleted, EdgesCreated, EdgeWritten, RelationType
from engram.memories.service import memory_not_found
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope


class EdgeWriting:
    def __init__(self, database: TenantDatabase, agents: AgentService, decay: Decay) -> None:
        self._database = database
        self._agents = agents
        self._decay = decay
        self._audit = Audit()

    async def create_edge(self, scope: Scope, request: EdgeCreate) -> Edge:
        """Assert an edge. Raises NotFoundProblem where an end is missing, InvalidInputProblem across agents."""
        async with self._database.transaction(scope) as connection:
            agent_id = await self._agent_of(connection, scope, [request], "{1}")
            (written,) = await _written(connection, scope, agent_id, [request], "valid_until")
            ends = [UUID(request.source_id), UUID(request.target_id)]
            details: dict[str, JsonValue] = {"relation_type": request.relation_type.value}
            await self._note(connection, scope, Action.edge_create, agent_id, ends, details)
            decay = await EdgeRepository(connection, scope).decay(agent_id, self._decay)
        return edge_of(written.row, decay)

    async def create_edges(self, scope: Scope, request: EdgeBatch) -> EdgesCreated:
        """Assert edges of one agent, wholly or not at all; the answer says per edge what became of it."""
        async with self._database.transaction(scope) as connection:
            agent_id = await self._agent_of(connection, scope, request.edges, "edges.{0}.{1}")
            written = await _written(connection, scope, agent_id, request.edges, "edges.{}.valid_until")
            ends = {UUID(id) for edge in request.edges for id in (edge.source_id, edge.target_id)}
            details: dict[str, JsonValue] = {"edges": len({key_of(edge) for edge in request.edges})}
            await self._note(connection, scope, Action.edge_create, agent_id, sorted(ends), details)
            decay = await EdgeRepository(connection, scope).decay(agent_id, self._decay)
        results = [
            EdgeWritten.model_validate({**fields_of(edge.row, decay), "created": edge.created}) for edge in written
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


async def _written(
    connection: AsyncConnection, scope: Scope, agent_id: UUID, edges: Sequence[EdgeCreate], field: str
) -> list[Asserted]:
    try:
        return await EdgeAssertions(connection, scope).write(agent_id, edges, datetime.now(UTC))
    except ImpossibleWindow as error:
        raise InvalidInputProblem.of(
            field.format(error.place), "must be later than the valid_from that the edge has already"
        ) from None


def _no_edge(source_id: str, target_id: str, relation_type: RelationType) -> str:
    computed = {
        RelationType.temporal: " Links between neighbours in a session are computed, and cannot be deleted one by one.",
        RelationType.entity_link: " Links through a shared entity are computed, and cannot be deleted one by one.",
    }
    return (
        f"No stored {relation_type.value} edge runs from {source_id} to {target_id}.{computed.get(relation_type, '')}"
    )
