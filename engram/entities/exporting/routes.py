"""HTTP of exported graphs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from engram.entities.exporting import graphml, jsonld
from engram.entities.exporting.service import FORMATS
from engram.http.access import AdminScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, problems
from engram.http.routing import StrictRoute
from engram.http.streaming import StreamedResponse
from engram.wire import Id, Truth, WireModel

router = APIRouter(prefix="/v1/agents", tags=["entities"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class GraphExportQuery(WireModel):
    format: Literal["graphml", "jsonld"] = "graphml"
    all: Truth = Field(default=False, description="With what is invalidated, too.")


_FILE: dict[str, Any] = {"schema": {"type": "string"}}


@router.get(
    "/{agent_id}/graph-export",
    summary="Export the entity graph of an agent",
    response_class=Response,
    responses={
        200: {
            "content": {graphml.MEDIA_TYPE: _FILE, jsonld.MEDIA_TYPE: {"schema": {"type": "object"}}},
            "description": "A graph that other programs open.",
        },
        **problems(404),
    },
)
async def export_graph(
    agent_id: Id,
    query: Annotated[GraphExportQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: AdminScope,
) -> Response:
    """Entities, the pairs of them that occur together, and the facts between them: what holds now, or with `all` what
    is invalidated, too. A file without its end was cut off."""
    pieces = services.graph_exports.export(scope, agent_id, format=query.format, whole=query.all)
    try:
        first = await unless_disconnected(request, anext(pieces))
    except BaseException:
        await pieces.aclose()
        raise
    out = FORMATS[query.format]
    return StreamedResponse(first, pieces, media_type=out.media_type, file_name=f"{agent_id}.{out.suffix}")
