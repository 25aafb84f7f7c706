"""HTTP of merges: two names that are one node."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, status
from pydantic import Field

from engram.facts.schemas import Merge, MergeCreate, MergeCreated, MergePage
from engram.http.access import ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Truth

router = APIRouter(prefix="/v1/facts/merge", tags=["facts"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class MergeQuery(PageQuery):
    agent_id: Id
    include_undone: Truth = Field(default=False, description="Also merges that were taken back.")


_MERGE = {"merge": {"value": {"agent_id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Bob", "other": "Robert"}}}


@router.post(
    "", summary="Merge two names", status_code=status.HTTP_201_CREATED, responses=problems(404, 409, *WITH_BODY)
)
async def merge_names(
    body: Annotated[MergeCreate, Body(openapi_examples=_MERGE)], services: ServicesDep, scope: WriterScope
) -> MergeCreated:
    """Makes two names one node for every walk of the agent. What the facts say stays as it was said."""
    return await services.facts.merges.merge(scope, body)


@router.get("", summary="List merges", responses=problems(404))
async def list_merges(
    query: Annotated[MergeQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> MergePage:
    """Merges of an agent, the one said last first."""
    return await unless_disconnected(
        request,
        services.facts.merges.list(
            scope, query.agent_id, include_undone=query.include_undone, limit=query.limit, cursor=query.cursor
        ),
    )


@router.delete("/{merge_id}", summary="Undo a merge", responses=problems(404))
async def undo_merge(merge_id: Id, services: ServicesDep, scope: WriterScope) -> Merge:
    """Takes a merge back: its names are two nodes again, as far as other merges allow."""
    return await services.facts.merges.undo(scope, merge_id)
