"""HTTP of the audit log."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field

from engram.audit.rows import Listing
from engram.audit.schemas import Action, AuditPage
from engram.http.access import AdminScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant

router = APIRouter(prefix="/v1/audit", tags=["audit"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class AuditQuery(PageQuery):
    agent_id: Id | None = None
    action: Action | None = None
    since: Instant | None = Field(default=None, description="Only what was done at this instant or later.")
    until: Instant | None = Field(default=None, description="Only what was done before this instant.")


@router.get("", summary="List what was changed")
async def list_audit(
    query: Annotated[AuditQuery, Query()], request: Request, services: ServicesDep, scope: AdminScope
) -> AuditPage:
    """Who changed what and when, the latest first. Without the texts of memories."""
    listing = Listing(
        agent_id=UUID(query.agent_id) if query.agent_id is not None else None,
        action=query.action.value if query.action is not None else None,
        since=query.since,
        until=query.until,
    )
    return await unless_disconnected(
        request, services.audit.list(scope, listing, limit=query.limit, cursor=query.cursor)
    )
