"""Use case: what an agent knows most of."""

from __future__ import annotations

from uuid import UUID

from engram.entities.communities.service import CommunityService
from engram.entities.graph.names import EntityNames
from engram.entities.taxonomy.repository import TaxonomyRepository
from engram.entities.taxonomy.schemas import Taxonomy, TaxonomyEntity
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

SHOWN_COMMUNITIES = 20
SHOWN_MEMBERS = 10
"""Of each, those that occur most."""


class TaxonomyService:
    def __init__(self, database: TenantDatabase, names: EntityNames, communities: CommunityService) -> None:
        self._database = database
        self._names = names
        self._communities = communities

    async def taxonomy(self, scope: Scope, agent_id: str, *, limit: int) -> Taxonomy:
        """The entities of the highest degree. Raises NotFoundProblem for an unknown agent."""
        id = UUID(agent_id)
        async with self._database.snapshot(scope) as connection:
            merged = await self._names.merged(connection, scope, id)
            rows = TaxonomyRepository(connection, scope)
            top = await rows.top(id, merged.ids, limit + 1)
            degrees = await rows.degrees(id, merged.ids)
            found = [(merged.entity(row), row["degree"]) for row in top]
            found += [(node, sum(degrees.get(one, 0) for one in node.ids)) for node in merged.nodes]
            found.sort(key=lambda one: (-one[1], one[0].name))
            memories = await rows.memories(id, [node for node, _ in found[:limit]])
            communities = await self._communities.largest(
                connection, scope, id, level=0, limit=SHOWN_COMMUNITIES, members=SHOWN_MEMBERS
            )
        return Taxonomy(
            agent_id=agent_id,
            entities=[
                TaxonomyEntity(
                    name=node.name, display_name=node.display_name, degree=degree, memories=memories[node.id]
                )
                for node, degree in found[:limit]
            ],
            communities=communities,
            truncated=len(found) > limit,
        )
