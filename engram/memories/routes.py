"""HTTP of memories."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response, status
from pydantic import Field

from engram.http.access import ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, EMBEDDING, WITH_BODY, problems
from engram.http.routing import StrictRoute
from engram.memories.queries import MemoryQuery
from engram.memories.schemas import (
    BatchCreated,
    MemoriesDelete,
    MemoriesDeleted,
    MemoryBatch,
    MemoryCreate,
    MemoryCreated,
    MemoryDeleted,
    MemoryDetail,
    MemoryPage,
)
from engram.wire import Id, Instant, Omissible, WireModel

router = APIRouter(prefix="/v1/memories", tags=["memories"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class GetQuery(WireModel):
    known_at: Omissible[Instant] = Field(default=None, description="As the server knew it at this instant.")


class DeleteQuery(WireModel):
    if_version: Omissible[Annotated[int, Field(ge=1, le=2**31 - 2)]] = Field(
        default=None, description="Delete it only where this is its version; else the answer is 409."
    )


_ITEM = {
    "content": "Alice moved to Lisbon and works at the harbour office.",
    "entities": [{"name": "Alice", "role": "subject"}, "Lisbon"],
    "session_id": "s-17",
    "tags": ["profile"],
    "metadata": {"channel": "chat"},
}
_AGENT_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_CREATE = {"memory": {"value": {"agent_id": _AGENT_ID, **_ITEM}}}
_BATCH = {"batch": {"value": {"agent_id": _AGENT_ID, "items": [_ITEM, {"content": "The harbour office closes at 5."}]}}}
_DELETE = {"session": {"value": {"agent_id": _AGENT_ID, "session_id": "s-17", "dry_run": True}}}


@router.post(
    "",
    summary="Remember a text",
    status_code=status.HTTP_201_CREATED,
    response_description="The memory is new.",
    responses={
        200: {"model": MemoryCreated, "description": "The same memory stood already, and is returned."},
        **problems(404, 409, *WITH_BODY, *EMBEDDING),
    },
)
async def create_memory(
    body: Annotated[MemoryCreate, Body(openapi_examples=_CREATE)],
    response: Response,
    services: ServicesDep,
    scope: WriterScope,
) -> MemoryCreated:
    """Stores a text once in its scope, embeds it, and links it to what the agent knows."""
    memory = await services.memories.create(scope, body)
    if memory.deduplicated:
        response.status_code = status.HTTP_200_OK
    return memory


@router.post(
    "/batch",
    summary="Remember many texts",
    status_code=status.HTTP_201_CREATED,
    responses=problems(404, 409, *WITH_BODY, *EMBEDDING),
)
async def create_memories(
    body: Annotated[MemoryBatch, Body(openapi_examples=_BATCH)], services: ServicesDep, scope: WriterScope
) -> BatchCreated:
    """Stores up to 1,000 texts, all of them or none, and says of each what became of it."""
    return await services.memories.create_many(scope, body)


@router.post("/delete", summary="Delete memories", responses=problems(404, *WITH_BODY))
async def delete_memories(
    body: Annotated[MemoriesDelete, Body(openapi_examples=_DELETE)], services: ServicesDep, scope: WriterScope
) -> MemoriesDeleted:
    """Takes what matches out of every recall, up to 10,000 memories, and says exactly how many; with `dry_run` it only
    says how many would go."""
    return await services.memories.delete_many(scope, body)


@router.get("", summary="List memories", responses=problems(404))
async def list_memories(
    query: Annotated[MemoryQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> MemoryPage:
    """Memories of an agent, the latest to arrive first: as it is now, as it held at an instant, or as it was known."""
    return await unless_disconnected(
        request,
        services.memories.list(
            scope,
            query.agent_id,
            query.criteria(),
            status=query.status,
            limit=query.limit,
            cursor=query.cursor,
            include_total=query.include_total,
        ),
    )


@router.get("/{memory_id}", summary="Get a memory", responses=problems(404))
async def get_memory(
    memory_id: Id,
    query: Annotated[GetQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> MemoryDetail:
    return await unless_disconnected(request, services.memories.get(scope, memory_id, known_at=query.known_at))


@router.delete("/{memory_id}", summary="Delete a memory", responses=problems(404, 409))
async def delete_memory(
    memory_id: Id, query: Annotated[DeleteQuery, Query()], services: ServicesDep, scope: WriterScope
) -> MemoryDeleted:
    """Takes the memory out of every recall at once. For some days it can be restored."""
    return await services.memories.delete(scope, memory_id, if_version=query.if_version)
