"""Use cases of the entity graph. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.moments import aware
from engram.entities.graph.chains import Chain, shortest
from engram.entities.graph.labeled import LabeledGraphRepository
from engram.entities.graph.names import EntityNames
from engram.entities.graph.observed import Observed
from engram.entities.graph.repository import EntityGraphRepository, Merged
from engram.entities.graph.schemas import (
    EntityPath,
    EntityPathEdge,
    EntityPathRequest,
    EntityQuestion,
    RankBy,
    RelatedEntities,
    RelatedEntity,
    Side,
    Traversal,
    TraverseNode,
    TraverseRequest,
)
from engram.entities.graph.walk import Entity, Hubs, Node, Step, traverse
from engram.entities.recognition import NameMatcher, openings
from engram.entities.repository import EntityRepository
from engram.paging import CountKey, NameKey, decode_cursor, encode_cursor
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

ONE_HOP = 20
"""Of what an entity occurs with, so many are taken where another domain asks."""

_CURSOR: TypeAdapter[tuple[int, str]] = TypeAdapter(tuple[CountKey, NameKey])


@dataclass(frozen=True, slots=True)
class TraverseDefaults:
    """What a walk does where its request says nothing."""

    hub_share: float
    rank_by: RankBy


@dataclass(frozen=True, slots=True)
class _Hops:
    """The reads of one walk."""

    graph: EntityGraphRepository
    rank_by: RankBy
    top_k: int

    async def hop(self, front: Sequence[Entity], visited: Collection[UUID]) -> list[Step]:
        return await self.graph.hop(front, visited, rank_by=self.rank_by, top_k=self.top_k)


class EntityGraphService:
    def __init__(self, database: TenantDatabase, names: EntityNames, defaults: TraverseDefaults) -> None:
        self._database = database
        self._names = names
        self._defaults = defaults

    async def traverse(self, scope: Scope, request: TraverseRequest) -> Traversal:
        """The neighbourhood of an entity, hop by hop. Raises NotFoundProblem for an unknown agent."""
        share = self._defaults.hub_share if request.hub_share is None else request.hub_share
        async with self._database.snapshot(scope) as connection:
            merged, (seed,) = await self._names.find(connection, scope, UUID(request.agent_id), [request.seed_entity])
            if seed is None:
                return Traversal(seed=request.seed_entity, found=False, nodes=[], hubs=[], truncated=False)
            graph = _graph(connection, scope, request, merged)
            nodes, truncated = await traverse(
                _Hops(graph, request.rank_by or self._defaults.rank_by, request.top_k_per_hop),
                seed,
                max_hops=request.max_hops,
                max_nodes=request.max_nodes,
                hubs=Hubs(request.hub_degree, share),
            )
        return Traversal(
            seed=seed.name,
            found=True,
            nodes=[_shown(node) for node in nodes],
            hubs=[node.step.entity.name for node in nodes if node.hub],
            truncated=truncated,
        )

    async def path(self, scope: Scope, request: EntityPathRequest) -> EntityPath:
        """The shortest chain between two entities. Raises NotFoundProblem for an unknown agent."""
        async with self._database.snapshot(scope) as connection:
            merged, ends = await self._names.find(
                connection, scope, UUID(request.agent_id), [request.source, request.target]
            )
            chain, truncated, edges = None, False, list[EntityPathEdge]()
            if ends[0] is not None and ends[1] is not None:
                graph = _graph(connection, scope, request, merged)
                chain, truncated = await shortest(graph, ends[0], ends[1], max_hops=request.max_hops)
                edges = await _edges(graph, chain) if chain is not None else []
        return EntityPath(
            source=ends[0].name if ends[0] is not None else request.source,
            target=ends[1].name if ends[1] is not None else request.target,
            found=chain is not None,
            path=[node.name for node in chain.nodes] if chain is not None else [],
            edges=edges,
            truncated=truncated,
        )

    async def related(
        self,
        scope: Scope,
        agent_id: str,
        entity: str,
        *,
        as_of: datetime | None,
        min_co_occur: int,
        limit: int,
        cursor: str | None,
    ) -> RelatedEntities:
        """What occurs with an entity, the most often first. Raises NotFoundProblem for an unknown agent."""
        after = decode_cursor(cursor, _CURSOR) if cursor is not None else None
        async with self._database.snapshot(scope) as connection:
            merged, (seed,) = await self._names.find(connection, scope, UUID(agent_id), [entity])
            if seed is None:
                return RelatedEntities(entity=entity, found=False, data=[], next_cursor=None)
            graph = EntityGraphRepository(connection, _observed(scope, agent_id, as_of, min_co_occur), merged)
            rows = await graph.page(seed, limit=limit + 1, after=after)
        data = [
            RelatedEntity(
                name=step.entity.name,
                display_name=step.entity.display_name,
                co_occur=step.co_occur,
                degree=step.degree,
                side=Side.first if seed.id < step.entity.id else Side.second,
            )
            for step in rows[:limit]
        ]
        more = len(rows) > limit
        return RelatedEntities(
            entity=seed.name,
            found=True,
            data=data,
            next_cursor=encode_cursor(data[-1].co_occur, data[-1].name) if more else None,
        )

    async def entities_named(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, names: Sequence[str]
    ) -> list[Entity]:
        """Entities by their names, in a transaction of another domain; each once, those that there are none of left
        out."""
        _, found = await self._names.find(connection, scope, agent_id, names)
        return list({entity.id: entity for entity in found if entity is not None}.values())

    async def entities_in(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, text: str, ignored: frozenset[str]
    ) -> list[Entity]:
        """Entities whose names stand in a text, by name. Names of ``ignored`` words are none."""
        offered = await EntityRepository(connection, scope).named_in(agent_id, openings(text))
        names = NameMatcher(offered, ignored=ignored).find(text)
        return await self.entities_named(connection, scope, agent_id, sorted(names))

    async def one_hop(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        seeds: Sequence[Entity],
        *,
        as_of: datetime | None,
    ) -> list[Step]:
        """What occurs with these entities, of each the best, but for hubs, which occur with everything."""
        merged = await self._names.merged(connection, scope, agent_id)
        graph = EntityGraphRepository(connection, _observed(scope, str(agent_id), as_of, 1), merged)
        hubs = Hubs(0, self._defaults.hub_share)
        visited = [id for seed in seeds for id in seed.ids]
        steps = await graph.hop(seeds, visited, rank_by=RankBy.cosine, top_k=ONE_HOP)
        return [step for step in steps if step not in hubs]


def _graph(connection: AsyncConnection, scope: Scope, request: EntityQuestion, merged: Merged) -> EntityGraphRepository:
    """What is walked: what occurs together, or what triples say."""
    observed = _observed(scope, request.agent_id, request.as_of, request.min_co_occur)
    if request.labeled or request.relations is not None:
        return LabeledGraphRepository(connection, observed, merged, request.relations)
    return EntityGraphRepository(connection, observed, merged)


def _observed(scope: Scope, agent_id: str, as_of: datetime | None, min_co_occur: int) -> Observed:
    return Observed(
        tenant_id=scope.tenant_id,
        agent_id=UUID(agent_id),
        now=datetime.now(UTC),
        as_of=as_of,
        min_co_occur=min_co_occur,
    )


async def _edges(graph: EntityGraphRepository, chain: Chain) -> list[EntityPathEdge]:
    pairs = list(zip(chain.nodes, chain.nodes[1:], strict=False))
    if not pairs:
        return []
    return [
        EntityPathEdge(
            source=near.name,
            target=far.name,
            co_occur=co_occur,
            valid_from=aware(begins),
            valid_until=aware(ends),
            relation=via.relation if via is not None else None,
            direction=via.direction if via is not None else None,
            provenance=via.provenance if via is not None else None,
        )
        for (near, far), co_occur, (begins, ends, via) in zip(
            pairs, chain.weights, await graph.described(pairs), strict=True
        )
    ]


def _shown(node: Node) -> TraverseNode:
    step, via = node.step, node.step.via
    return TraverseNode(
        name=step.entity.name,
        display_name=step.entity.display_name,
        hop=node.hop,
        hub=node.hub,
        score=step.score,
        via_co_occur=step.co_occur,
        cumulative_weight=node.cumulative_weight,
        degree=step.degree,
        path=list(node.path),
        valid_from=step.valid_from,
        valid_until=step.valid_until,
        community_id=step.community,
        via_relation=via.relation if via is not None else None,
        via_direction=via.direction if via is not None else None,
        via_provenance=via.provenance if via is not None else None,
    )
