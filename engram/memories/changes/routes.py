"""HTTP of changing memories."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response, status

from engram.http.access import AdminScope, ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, EMBEDDING, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.memories.changes.schemas import MemoryHistory, MemoryPurged, MemorySet, MemoryUpdate, MemoryUpdated
from engram.memories.schemas import MemoryCreated, MemoryDetail, MemoryItem
from engram.wire import Id

router = APIRouter(prefix="/v1/memories", tags=["memories"], route_class=StrictRoute, responses=problems(*ANYWHERE))

_AGENT_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_SET = {
    "value": {
        "value": {
            "agent_id": _AGENT_ID,
            "key": "billing/owner",
            "content": "Dana owns the billing service.",
            "entities": ["Dana", {"name": "billing service", "role": "subject"}],
        }
    }
}
_UPDATE = {"tags": {"value": {"tags": ["profile", "checked"], "if_version": 1}}}
_SUPERSEDE = {"newer": {"value": {"content": "Alice moved to Porto.", "tags": ["profile"]}}}
_STANDS: dict[int | str, dict[str, Any]] = {
    200: {"model": MemoryCreated, "description": "It says so already, and is returned."}
}


@router.put(
    "",
    summary="Set the value of a key",
    status_code=status.HTTP_201_CREATED,
    response_description="The value is new.",
    responses={**_STANDS, **problems(404, 409, *WITH_BODY, *EMBEDDING)},
)
async def set_memory(
    body: Annotated[MemorySet, Body(openapi_examples=_SET)],
    response: Response,
    services: ServicesDep,
    scope: WriterScope,
) -> MemoryCreated:
    """The value holds from `valid_from` on, and takes the place of what held there; that stays in the history."""
    memory = await services.changes.setting.set(scope, body)
    if memory.deduplicated:
        response.status_code = status.HTTP_200_OK
    return memory


@router.patch("/{memory_id}", summary="Change a memory", responses=problems(404, 409, *WITH_BODY, *EMBEDDING))
async def update_memory(
    memory_id: Id,
    body: Annotated[MemoryUpdate, Body(openapi_examples=_UPDATE)],
    services: ServicesDep,
    scope: WriterScope,
) -> MemoryUpdated:
    """Changes what is named and nothing else. What it was stays in the history."""
    return await services.changes.revisions.update(scope, memory_id, body)


@router.post(
    "/{memory_id}/supersede",
    summary="Put a memory in another's place",
    status_code=status.HTTP_201_CREATED,
    response_description="The memory is new.",
    responses={**_STANDS, **problems(404, 409, *WITH_BODY, *EMBEDDING)},
)
async def supersede_memory(
    memory_id: Id,
    body: Annotated[MemoryItem, Body(openapi_examples=_SUPERSEDE)],
    response: Response,
    services: ServicesDep,
    scope: WriterScope,
) -> MemoryCreated:
    """The older one ends where the newer begins, and stays in the history."""
    memory = await services.changes.setting.supersede(scope, memory_id, body)
    if memory.deduplicated:
        response.status_code = status.HTTP_200_OK
    return memory


@router.post("/{memory_id}/restore", summary="Restore a memory", responses=problems(404, 409))
async def restore_memory(memory_id: Id, services: ServicesDep, scope: WriterScope) -> MemoryDetail:
    """Makes what was superseded or deleted current again. What is current stays as it is."""
    return await services.changes.restorations.restore(scope, memory_id)


@router.get("/{memory_id}/history", summary="List what a memory was", responses=problems(404))
async def memory_history(
    memory_id: Id,
    query: Annotated[PageQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> MemoryHistory:
    """Its states and those of what it superseded or was superseded by, the latest known first."""
    histories = services.changes.histories
    return await unless_disconnected(
        request, histories.history(scope, memory_id, limit=query.limit, cursor=query.cursor)
    )


@router.post("/{memory_id}/purge", summary="Erase a memory for good", responses=problems(404, 409))
async def purge_memory(memory_id: Id, services: ServicesDep, scope: AdminScope) -> MemoryPurged:
    """Erases the memory, what it was, what finds it and what leads to it. It cannot be taken back."""
    return await services.changes.purges.purge(scope, memory_id)
