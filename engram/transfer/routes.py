"""HTTP of whole agents: out as a stream of lines, and in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response, status

from engram.http.access import AdminScope, admit
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, EMBEDDING, WITH_BODY, problems
from engram.http.problems import UnsupportedMediaTypeProblem
from engram.http.routing import StrictRoute
from engram.http.streaming import StreamedResponse, streams
from engram.tenants.roles import Role
from engram.transfer.example import EMPTY_EXPORT
from engram.transfer.exporting.service import Wanted as WantedOut
from engram.transfer.importing.making import Wanted as WantedIn
from engram.transfer.schemas import MEDIA_TYPE, AgentImported
from engram.wire import Id, Instant, Name, Omissible, Truth, WireModel

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class ExportQuery(WireModel):
    include_embeddings: Truth = True
    include_history: Truth = True
    as_of: Omissible[Instant] = None
    known_at: Omissible[Instant] = None


class ImportQuery(WireModel):
    name: Omissible[Name] = None
    ids: Literal["keep", "new"] = "keep"
    reembed: Truth = False


_LINES: dict[str, Any] = {"schema": {"type": "string"}}
_BODY = {
    "required": True,
    "content": {MEDIA_TYPE: {**_LINES, "examples": {"nothing": {"value": EMPTY_EXPORT}}}},
}


@router.get(
    "/{agent_id}/export",
    summary="Export an agent",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: _LINES}, "description": "Lines of JSON, a record each."}, **problems(404)},
)
async def export_agent(
    agent_id: Id, query: Annotated[ExportQuery, Query()], request: Request, services: ServicesDep, scope: AdminScope
) -> Response:
    """All that an agent holds, what was deleted or changed included; with `as_of` or `known_at` only what held then,
    as memories without a past. The last line is a footer: an export without one was cut off."""
    wanted = WantedOut(
        embeddings=query.include_embeddings,
        history=query.include_history,
        as_of=query.as_of,
        known_at=query.known_at,
    )
    pieces = services.exports.export(scope, agent_id, wanted)
    try:
        first = await unless_disconnected(request, anext(pieces))
    except BaseException:
        await pieces.aclose()
        raise
    return StreamedResponse(first, pieces, media_type=MEDIA_TYPE, file_name=f"{agent_id}.ndjson")


@router.post(
    "/import",
    summary="Import an agent",
    status_code=status.HTTP_201_CREATED,
    responses=problems(409, *WITH_BODY, *EMBEDDING),
    openapi_extra={"requestBody": _BODY},
)
@streams
async def import_agent(
    query: Annotated[ImportQuery, Query()], request: Request, services: ServicesDep, scope: AdminScope
) -> AgentImported:
    """Makes an agent of an export, which is read as it comes. Nobody sees the agent before all of it is there; where
    anything is wrong nothing is left."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != MEDIA_TYPE:
        raise UnsupportedMediaTypeProblem(f"Send the lines of an export, with Content-Type: {MEDIA_TYPE}.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaTypeProblem("Send the body as it is, without a Content-Encoding.")

    async def confirm() -> None:
        # The key may have been revoked while the lines came.
        await admit(request, Role.admin)

    wanted = WantedIn(name=query.name, ids=query.ids, reembed=query.reembed)
    return await services.imports.take(scope, _pieces(request), wanted, confirm)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    async for piece in request.stream():
        if piece:
            yield piece
