"""HTTP of the memory graph."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, status
from pydantic import Field

from engram.graph.schemas import (
    Direction,
    Edge,
    EdgeBatch,
    EdgeCreate,
    EdgeDeleted,
    EdgePage,
    EdgesCreated,
    RelationType,
)
from engram.http.access import ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant, Label, Omissible, Unit, WireModel

router = APIRouter(prefix="/v1/graph/edges", tags=["graph"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class EdgeQuery(PageQuery):
    memory_id: Id
    direction: Direction = Direction.both
    relation_type: Omissible[Annotated[list[RelationType], Field(max_length=len(RelationType))]] = Field(
        default=None, description="May be repeated: edges of any of these; default: all."
    )
    min_weight: Unit = 0.0
    label: Omissible[Label] = Field(default=None, description="Only edges with this label.")
    origin: Omissible[Annotated[list[Label], Field(max_length=16)]] = Field(
        default=None, description="May be repeated: edges of any of these origins; default: all."
    )
    as_of: Omissible[Instant] = Field(default=None, description="Only edges that held at this instant.")
    known_at: Omissible[Instant] = Field(
        default=None, description="As the server knew it at this instant; later changes are not seen."
    )
    include_invalidated: bool = Field(
        default=False,
        description="Also edges that were deleted, that have ended, or with an end that no longer holds.",
    )


class EdgeKey(WireModel):
    source_id: Id
    target_id: Id
    relation_type: RelationType


_CREATE = {
    "edge": {
        "value": {
            "source_id": "01890a5d-ac96-774b-bcce-b302099a8057",
            "target_id": "01890a5d-ac96-774b-bcce-b302099a8058",
            "relation_type": "causal",
            "label": "caused",
            "reason": "The outage followed the deployment.",
        }
    }
}
_BATCH = {"batch": {"value": {"edges": [_CREATE["edge"]["value"]]}}}


@router.get("", summary="List the edges of a memory", responses=problems(404))
async def get_edges(
    query: Annotated[EdgeQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> EdgePage:
    """Each edge once, stored or computed, seen from the memory asked about; the strongest first."""
    return await unless_disconnected(
        request,
        services.graph.get_edges(
            scope,
            query.memory_id,
            direction=query.direction,
            relation_types=query.relation_type,
            min_weight=query.min_weight,
            label=query.label,
            origins=query.origin,
            as_of=query.as_of,
            known_at=query.known_at,
            include_invalidated=query.include_invalidated,
            limit=query.limit,
            cursor=query.cursor,
        ),
    )


@router.post("", summary="Assert an edge", status_code=status.HTTP_201_CREATED, responses=problems(404, *WITH_BODY))
async def create_edge(
    body: Annotated[EdgeCreate, Body(openapi_examples=_CREATE)], services: ServicesDep, scope: WriterScope
) -> Edge:
    """Asserting an edge again keeps the greater weight."""
    return await services.graph.create_edge(scope, body)


@router.post(
    "/batch", summary="Assert many edges", status_code=status.HTTP_201_CREATED, responses=problems(404, *WITH_BODY)
)
async def create_edges(
    body: Annotated[EdgeBatch, Body(openapi_examples=_BATCH)], services: ServicesDep, scope: WriterScope
) -> EdgesCreated:
    """Asserts up to 1,000 edges of one agent, all of them or none, and says of each what became of it."""
    return await services.graph.create_edges(scope, body)


@router.delete("", summary="Delete an edge", responses=problems(404))
async def delete_edge(query: Annotated[EdgeKey, Query()], services: ServicesDep, scope: WriterScope) -> EdgeDeleted:
    """Takes a stored edge out of the graph. Computed ones follow sessions and entities, and cannot be deleted."""
    return await services.graph.delete_edge(scope, query.source_id, query.target_id, query.relation_type)
