"""At which entities a recall is aimed: those that the request names, or in graph mode the query, by name or by what is
meant, and one hop around.

Where communities were computed, what belongs together with them comes too.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.embeddings.base import Vectors
from engram.entities.communities.service import CommunityService
from engram.entities.graph.service import EntityGraphService
from engram.entities.graph.walk import Entity
from engram.entities.vectors.service import EntityVectorSearch
from engram.graph.decay import Decay
from engram.graph.schemas import RelationType
from engram.recall.naming import rescaled
from engram.recall.repository import AskedAgent
from engram.recall.schemas import RecallRequest, SearchMode
from engram.recall.statements.near import MAX_NEAR
from engram.recall.targets import Target
from engram.recall.tuning import RecallTuning
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words


def worth_of_mention(decay: Decay) -> float:
    """What a hop over an entity link keeps."""
    return decay.multipliers[RelationType.entity_link] * (1 - decay.hop_penalty)


FELLOWS = 20
"""Of the communities of the seeds, so many others are taken, as of what occurs with an entity."""


def leads_by_vector(request: RecallRequest, tuning: RecallTuning) -> bool:
    """Whether an entity leads to memories by its vector, which is made of what is known now."""
    walked = request.relation_types is None or RelationType.entity_link in request.relation_types
    return bool(tuning.entity_vectors) and walked and request.known_at is None


class Aiming:
    def __init__(
        self,
        entities: EntityGraphService,
        communities: CommunityService,
        vectors: EntityVectorSearch,
        tuning: RecallTuning,
    ) -> None:
        self._entities = entities
        self._communities = communities
        self._vectors = vectors
        self._tuning = tuning

    async def targets(
        self,
        connection: AsyncConnection,
        scope: Scope,
        request: RecallRequest,
        vector: Vectors,
        agent: AskedAgent,
        decay: Decay,
    ) -> list[Target]:
        """Of a request that is in graph mode, or names entities; ``vector`` is the query's.

        Where a query names none, those are meant that are near it by their vectors.
        """
        agent_id = UUID(request.agent_id)
        if request.entity_filter is not None:
            seeds = await self._entities.entities_named(connection, scope, agent_id, request.entity_filter)
        else:
            ignored = stop_words(agent.language)
            seeds = await self._entities.entities_in(connection, scope, agent_id, request.query, ignored)
        found = {seed.id: Target(seed.ids, seed.display_name, 1.0) for seed in seeds}
        if not seeds and request.entity_filter is None and leads_by_vector(request, self._tuning):
            for seed, worth in await self._near(connection, scope, request, vector, agent):
                seeds.append(seed)
                found[seed.id] = Target(seed.ids, seed.display_name, worth)
        if request.search_mode is SearchMode.graph and seeds:
            at = request.as_of or request.known_at
            keep = worth_of_mention(decay)
            for step in await self._entities.one_hop(connection, scope, agent_id, seeds, as_of=at):
                worth = keep * min(1.0, step.score) * found[seeds[step.parent].id].weight
                near = Target(step.entity.ids, step.entity.display_name, worth)
                known = found.get(step.entity.id)
                if known is None or known.weight < near.weight:
                    found[step.entity.id] = near
            ids = [id for seed in seeds for id in seed.ids]
            reached = {id for target in found.values() for id in target.ids}
            # What belongs with a seed, and does not occur with it, is a hop beyond all that does.
            weight = keep * min(target.weight for target in found.values())
            for fellow in await self._communities.fellows(connection, scope, agent_id, ids, FELLOWS):
                if fellow.id not in reached:
                    found[fellow.id] = Target(fellow.ids, fellow.display_name, weight)
        return list(found.values())

    async def _near(
        self, connection: AsyncConnection, scope: Scope, request: RecallRequest, vector: Vectors, agent: AskedAgent
    ) -> list[tuple[Entity, float]]:
        """Entities near the query, each once, and what they are worth; the nearest first."""
        agent_id, floor = UUID(request.agent_id), self._tuning.entity_vectors_floor
        near = await self._vectors.nearest(
            connection,
            scope,
            agent_id,
            vector,
            user_id=request.user_id,
            floor=floor,
            limit=MAX_NEAR,
            indexed=agent.near_indexed,
        )
        weight = self._tuning.entity_vectors or 0.0
        names = [one.name for one in near]
        nodes = await self._entities.entities_named(connection, scope, agent_id, names) if names else []
        of = {id: node for node in nodes for id in node.ids}
        found: dict[UUID, tuple[Entity, float]] = {}
        for one in near:
            worth = weight * rescaled(one.similarity, floor)
            if (node := of.get(one.entity_id)) is not None and worth > 0:
                found.setdefault(node.id, (node, worth))
        return list(found.values())
