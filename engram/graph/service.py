"""Use cases of the memory graph."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from pydantic import TypeAdapter

from engram.agents.service import AgentService
from engram.graph.decay import Decay
from engram.graph.exploration import Exploration
from engram.graph.listing import MAX_EDGES, EdgeFilter
from engram.graph.neighbours import Neighbourhood
from engram.graph.repository import AskedAgent, EdgeRepository
from engram.graph.rows import edge_of
from engram.graph.schemas import Direction, EdgePage, RelationType
from engram.graph.tuning import GraphTuning
from engram.graph.writing import EdgeWriting
from engram.memories.predicates import Visibility
from engram.memories.service import memory_not_found
from engram.paging import decode_cursor, encode_cursor
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


class GraphService(EdgeWriting):
    def __init__(self, database: TenantDatabase, agents: AgentService, tuning: GraphTuning, decay: Decay) -> None:
        super().__init__(database, agents, decay)
        self._tuning = tuning
        self.explore = Exploration(database, tuning, decay)

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
            agent = await edges.agent_of(id, known_at, self._decay)
            if agent is None:
                raise memory_not_found(memory_id)
            around = self._around(scope, agent, relation_types, as_of, known_at)
            wanted = EdgeFilter(
                directions=_DIRECTIONS[direction],
                min_weight=min_weight,
                label=label,
                origins=origins,
                include_closed=include_invalidated,
            )
            rows = await edges.of_memory(id, around, wanted, limit=limit + 1, after=after)
        data = [edge_of(row, agent.decay) for row in rows[:limit]]
        last = data[-1] if len(rows) > limit else None
        return EdgePage(
            data=data,
            next_cursor=encode_cursor(
                last.weight, last.relation_type.value, last.target_memory_id, last.direction.value
            )
            if last
            else None,
        )

    def _around(
        self,
        scope: Scope,
        agent: AskedAgent,
        relation_types: list[RelationType] | None,
        as_of: datetime | None,
        known_at: datetime | None,
    ) -> Neighbourhood:
        return Neighbourhood(
            tenant_id=scope.tenant_id,
            agent_id=agent.id,
            visibility=Visibility(now=datetime.now(UTC), as_of=as_of, known_at=known_at),
            multipliers=agent.decay.over(relation_types),
            fan_out=MAX_EDGES,
            tuning=self._tuning,
        )
