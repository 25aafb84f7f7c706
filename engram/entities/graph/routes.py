"""HTTP of the entity graph."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from pydantic import Field

from engram.entities.graph.schemas import (
    EntityPath,
    EntityPathRequest,
    RelatedEntities,
    Traversal,
    TraverseRequest,
)
from engram.http.access import ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant, Name, Omissible

router = APIRouter(prefix="/v1/facts", tags=["entities"], route_class=StrictRoute, responses=problems(*ANYWHERE))

_AGENT_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_TRAVERSE = {"walk": {"value": {"agent_id": _AGENT_ID, "seed_entity": "billing service", "max_hops": 2}}}
_PATH = {"path": {"value": {"agent_id": _AGENT_ID, "source": "billing service", "target": "ledger outage"}}}


class RelatedQuery(PageQuery):
    agent_id: Id
    entity: Name
    as_of: Omissible[Instant] = Field(
        default=None, description="Only what was observed in memories that held at this moment."
    )
    min_co_occur: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(
        default=1, description="Observations of a pair, at least."
    )


@router.post("/traverse", summary="Walk over what occurs together", responses=problems(404, *WITH_BODY))
async def traverse_entities(
    body: Annotated[TraverseRequest, Body(openapi_examples=_TRAVERSE)],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> Traversal:
    """The neighbourhood of an entity: of each node the strongest pairs are kept before the next hop; hubs are shown,
    and not walked through. A name that nothing has gives an empty answer."""
    return await unless_disconnected(request, services.entity_graph.traverse(scope, body))


@router.post("/path", summary="Find a chain between two entities", responses=problems(404, *WITH_BODY))
async def entity_path(
    body: Annotated[EntityPathRequest, Body(openapi_examples=_PATH)],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> EntityPath:
    """The shortest chain of entities that occur together; where `truncated`, not found may be not so."""
    return await unless_disconnected(request, services.entity_graph.path(scope, body))


@router.get("/related", summary="List what occurs with an entity", responses=problems(404))
async def related_entities(
    query: Annotated[RelatedQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> RelatedEntities:
    """Entities that are named together with one, the most often first. A name that nothing has gives an empty list."""
    return await unless_disconnected(
        request,
        services.entity_graph.related(
            scope,
            query.agent_id,
            query.entity,
            as_of=query.as_of,
            min_co_occur=query.min_co_occur,
            limit=query.limit,
            cursor=query.cursor,
        ),
    )
