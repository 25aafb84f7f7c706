"""At which entities a recall is aimed: those that the request names, or in graph mode the query, and one hop around.

Where communities were computed, what belongs together with them comes too.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.entities.communities.service import CommunityService
from engram.entities.graph.service import EntityGraphService
from engram.graph.decay import Decay
from engram.graph.schemas import RelationType
from engram.recall.schemas import RecallRequest, SearchMode
from engram.recall.targets import Target
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words


def worth_of_mention(decay: Decay) -> float:
    """What a hop over an entity link keeps."""
    return decay.multipliers[RelationType.entity_link] * (1 - decay.hop_penalty)


FELLOWS = 20
"""Of the communities of the seeds, so many others are taken, as of what occurs with an entity."""


class Aiming:
    def __init__(self, entities: EntityGraphService, communities: CommunityService) -> None:
        self._entities = entities
        self._communities = communities

    async def targets(
        self, connection: AsyncConnection, scope: Scope, request: RecallRequest, language: str, decay: Decay
    ) -> list[Target]:
        """Of a request that is in graph mode, or names entities."""
        agent_id = UUID(request.agent_id)
        if request.entity_filter is not None:
            seeds = await self._entities.entities_named(connection, scope, agent_id, request.entity_filter)
        else:
            ignored = stop_words(language)
            seeds = await self._entities.entities_in(connection, scope, agent_id, request.query, ignored)
        found = {seed.id: Target(seed.ids, seed.display_name, 1.0) for seed in seeds}
        if request.search_mode is SearchMode.graph and seeds:
            at = request.as_of or request.known_at
            keep = worth_of_mention(decay)
            for step in await self._entities.one_hop(connection, scope, agent_id, seeds, as_of=at):
                near = Target(step.entity.ids, step.entity.display_name, keep * min(1.0, step.score))
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
