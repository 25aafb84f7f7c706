"""HTTP of an agent's taxonomy."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from engram.entities.taxonomy.schemas import Taxonomy
from engram.http.access import ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, problems
from engram.http.routing import StrictRoute
from engram.paging import Limit
from engram.wire import Id, WireModel

router = APIRouter(prefix="/v1/agents", tags=["entities"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class TaxonomyQuery(WireModel):
    limit: Limit = Field(default=50, description="At most so many entities.")


@router.get("/{agent_id}/taxonomy", summary="Show what an agent knows most of", responses=problems(404))
async def agent_taxonomy(
    agent_id: Id,
    query: Annotated[TaxonomyQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> Taxonomy:
    """Entities that occur with others most, each with how many memories name it."""
    return await unless_disconnected(request, services.taxonomy.taxonomy(scope, agent_id, limit=query.limit))
