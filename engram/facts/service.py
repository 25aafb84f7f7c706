"""Use cases of facts: writing and changing them, finding them, and answers over several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService, agent_not_found
from engram.facts.known import Believed
from engram.facts.merging import MergingService
from engram.facts.names import node_name, predicate_name
from engram.facts.paths import Edge, Path, Paths
from engram.facts.repository import FactFilter, FactRepository
from engram.facts.rows import stored
from engram.facts.schemas import FactBelief, FactHistory, FactPage, FactPaths, FactStatus, GraphQuestion, StoredFact
from engram.facts.showing import shown
from engram.facts.walk import Trail, walk
from engram.facts.walking import FactWalkRepository
from engram.facts.writing import FactWriting, fact_not_found
from engram.paging import decode_cursor, encode_cursor
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.wire import Instant

_CURSOR: TypeAdapter[tuple[datetime, UUID]] = TypeAdapter(tuple[Instant, UUID])


class FactService(FactWriting):
    def __init__(self, database: TenantDatabase, agents: AgentService) -> None:
        super().__init__(database, agents)
        self.merges = MergingService(database, agents)

    async def query(
        self,
        scope: Scope,
        agent_id: str,
        wanted: FactFilter,
        *,
        valid_at: datetime | None,
        known_at: datetime | None,
        limit: int,
        cursor: str | None = None,
    ) -> FactPage:
        """Facts of one partition that are spelt so, the one learnt last first; superseded ones too, without
        ``valid_at``. Raises NotFoundProblem for an unknown agent."""
        after = decode_cursor(cursor, _CURSOR) if cursor is not None else None
        if wanted.predicate is not None:
            wanted = replace(wanted, predicate=predicate_name(wanted.predicate))
        async with self._database.snapshot(scope) as connection:
            await self._check_agent(connection, scope, agent_id)
            believed = Believed.of(scope.tenant_id, UUID(agent_id), valid_at=valid_at, known_at=known_at, ended=True)
            rows = await FactRepository(connection, scope).page(believed, wanted, limit=limit + 1, after=after)
        data = [stored(row) for row in rows[:limit]]
        last = data[-1] if len(rows) > limit else None
        return FactPage(
            data=data, next_cursor=encode_cursor(last.recorded_at.isoformat(), last.id) if last is not None else None
        )

    async def count(self, scope: Scope, agent_id: str, wanted: FactFilter) -> int:
        """How many facts of a partition there are, superseded ones included."""
        async with self._database.snapshot(scope) as connection:
            await self._check_agent(connection, scope, agent_id)
            believed = Believed.of(scope.tenant_id, UUID(agent_id), valid_at=None, known_at=None, ended=True)
            return await FactRepository(connection, scope).count(believed, wanted)

    async def get(self, scope: Scope, id: str, *, known_at: datetime | None = None) -> StoredFact:
        """A fact that is believed, or was as far as was known at an instant. Raises NotFoundProblem."""
        async with self._database.snapshot(scope) as connection:
            fact = await self._find(connection, scope, id, known_at)
        if fact is None or fact.status is not FactStatus.standing:
            raise fact_not_found(id)
        return fact

    async def history(self, scope: Scope, id: str) -> FactHistory:
        """A fact in any state, and what was believed of it when. Raises NotFoundProblem."""
        async with self._database.snapshot(scope) as connection:
            fact = await self._find(connection, scope, id, None)
            if fact is None:
                raise fact_not_found(id)
            rows = await FactRepository(connection, scope).closures(UUID(fact.agent_id), UUID(id))
        said = FactBelief(
            recorded_at=fact.recorded_at,
            status=FactStatus.standing,
            valid_until=fact.stated_until,
            closed_by=None,
            superseded_by=None,
        )
        beliefs = [
            FactBelief(**{**row, "superseded_by": str(row["superseded_by"]) if row["superseded_by"] else None})
            for row in rows
        ]
        # What was known when it came is the first that was believed of it.
        if not beliefs or beliefs[0].recorded_at > fact.recorded_at:
            beliefs.insert(0, said)
        return FactHistory(fact=fact, beliefs=beliefs)

    async def recall_graph(
        self,
        scope: Scope,
        agent_id: str,
        query: str,
        *,
        user_id: str | None,
        hops: int,
        valid_at: datetime | None,
        known_at: datetime | None,
        limit: int,
    ) -> Paths:
        """Chains of facts that begin at names which have a word in common with the question; see ``facts.walk``.

        Raises NotFoundProblem for an unknown agent.
        """
        question = GraphQuestion.model_construct(
            agent_id=agent_id,
            query=query,
            user_id=user_id,
            hops=hops,
            valid_at=valid_at,
            known_at=known_at,
            limit=limit,
        )
        async with self._database.snapshot(scope) as connection:
            return await self._walk(connection, scope, question)

    async def answer(self, scope: Scope, question: GraphQuestion) -> FactPaths:
        """The same as it is shown, with the memories behind the facts."""
        async with self._database.snapshot(scope) as connection:
            paths = await self._walk(connection, scope, question)
            ids = {UUID(fact.id) for path in paths for fact in path.facts}
            facts = FactRepository(connection, scope)
            memories = await facts.memories_of(UUID(question.agent_id), ids, question.user_id)
        return shown(paths, memories)

    async def _walk(self, connection: AsyncConnection, scope: Scope, question: GraphQuestion) -> Paths:
        await self._check_agent(connection, scope, question.agent_id)
        agent_id, known_at = UUID(question.agent_id), question.known_at
        believed = Believed.of(scope.tenant_id, agent_id, valid_at=question.valid_at, known_at=known_at)
        trails, truncated = await walk(
            FactWalkRepository(connection, believed),
            question.query,
            user_id=question.user_id,
            groups=await self.merges.groups(connection, scope, agent_id, known_at),
            hops=question.hops,
            limit=question.limit,
        )
        ids = {hop.fact_id for trail in trails for hop in trail.hops}
        rows = await FactRepository(connection, scope).by_ids(agent_id, ids, known_at=known_at)
        edges = {id: _edge(stored(row)) for id, row in rows.items()}
        return Paths([_path(trail, edges) for trail in trails], truncated=truncated)

    async def _find(
        self, connection: AsyncConnection, scope: Scope, id: str, known_at: datetime | None
    ) -> StoredFact | None:
        facts = FactRepository(connection, scope)
        place = await facts.place(UUID(id))
        if place is None:
            return None
        row = (await facts.by_ids(place[0], [UUID(id)], known_at=known_at)).get(UUID(id))
        return stored(row) if row is not None else None

    async def _check_agent(self, connection: AsyncConnection, scope: Scope, agent_id: str) -> None:
        if await self._agents.language(connection, scope, UUID(agent_id)) is None:
            raise agent_not_found(agent_id)


def _edge(fact: StoredFact) -> Edge:
    return Edge(node_name(fact.subject), fact.predicate, node_name(fact.object), fact)


def _path(trail: Trail, edges: Mapping[UUID, Edge]) -> Path:
    hops: Sequence[Edge] = [edges[hop.fact_id] for hop in trail.hops]
    return Path(tuple(hops), tuple(hop.forward for hop in trail.hops))
