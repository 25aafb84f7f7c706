"""HTTP of memories that are found by what they name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field, model_validator

from engram.entities.memories.schemas import RelatedMemories, Timeline, TimeOrder
from engram.http.access import ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.memories.criteria import PastCriteria, check_window
from engram.memories.schemas import MemoryPage
from engram.memories.seen import Seen
from engram.paging import Limit
from engram.wire import Id, Instant, Label, Name, Omissible, WireModel

router = APIRouter(prefix="/v1/memories", tags=["entities"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class SeenQuery(WireModel):
    user_id: Omissible[Label] = None
    session_id: Omissible[Label] = None
    as_of: Omissible[Instant] = Field(default=None, description="Only what held at this instant.")
    known_at: Omissible[Instant] = Field(default=None, description="As the server knew it at this instant.")

    def seen(self) -> Seen:
        return Seen(
            user_id=self.user_id,
            session_id=self.session_id,
            as_of=self.as_of,
            known_at=self.known_at,
        )


class RelatedQuery(SeenQuery):
    limit: Limit = Field(default=20, description="At most so many.")


class BacklinksQuery(SeenQuery, PageQuery):
    pass


class TimelineQuery(PageQuery):
    agent_id: Id
    entity: Name
    order: TimeOrder = Field(default=TimeOrder.oldest, description="What comes first.")
    user_id: Omissible[Label] = None
    session_id: Omissible[Label] = None
    valid_from: Omissible[Instant] = Field(default=None, description="Only memories that began at or after this.")
    valid_until: Omissible[Instant] = Field(default=None, description="Only memories that began before this.")
    as_of: Omissible[Instant] = Field(default=None, description="Only what held at this instant.")
    known_at: Omissible[Instant] = Field(default=None, description="As the server knew it at this instant.")
    include_superseded: bool = Field(default=False, description="Also memories that were superseded.")

    @model_validator(mode="after")
    def _window(self) -> TimelineQuery:
        check_window(self.valid_from, self.valid_until)
        return self

    def criteria(self) -> PastCriteria:
        return PastCriteria(**self.model_dump(include=set(PastCriteria.model_fields)))


@router.get("/timeline", summary="Show an entity through time", responses=problems(404))
async def entity_timeline(
    query: Annotated[TimelineQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> Timeline:
    """Memories that name an entity, in the order in which they began to hold. A name that nothing has gives an empty
    list."""
    return await unless_disconnected(
        request,
        services.entity_memories.timeline(
            scope,
            query.agent_id,
            query.entity,
            query.criteria(),
            superseded=query.include_superseded,
            order=query.order,
            limit=query.limit,
            cursor=query.cursor,
        ),
    )


@router.get("/{memory_id}/related", summary="List what shares entities with a memory", responses=problems(404))
async def related_memories(
    memory_id: Id,
    query: Annotated[RelatedQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> RelatedMemories:
    """The most telling first: an entity that both name adds the more, the fewer memories name it."""
    return await unless_disconnected(
        request, services.entity_memories.related(scope, memory_id, query.seen(), limit=query.limit)
    )


@router.get("/{memory_id}/backlinks", summary="List what names an entity of a memory", responses=problems(404))
async def memory_backlinks(
    memory_id: Id,
    query: Annotated[BacklinksQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> MemoryPage:
    """Memories that name any entity of this one, the latest to arrive first."""
    return await unless_disconnected(
        request,
        services.entity_memories.backlinks(scope, memory_id, query.seen(), limit=query.limit, cursor=query.cursor),
    )
