"""HTTP of what surrounds memories, and of ways between them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from engram.graph.exploration import Explored
from engram.graph.schemas import GraphPaths, Neighborhood, PathOrder, RelationType
from engram.http.access import ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, problems
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant, Label, Omissible, Unit, WireModel

router = APIRouter(prefix="/v1/graph", tags=["graph"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class WalkQuery(WireModel):
    relation_type: Omissible[Annotated[list[RelationType], Field(max_length=len(RelationType))]] = Field(
        default=None, description="May be repeated: only over edges of any of these; default: all."
    )
    min_weight: Unit = Field(default=0.0, description="Only over edges of at least this weight.")
    as_of: Omissible[Instant] = Field(default=None, description="Only what held at this instant, at every hop.")
    known_at: Omissible[Instant] = Field(
        default=None, description="As the server knew it at this instant; later changes are not seen."
    )

    def explored(self, user_id: str | None = None, session_id: str | None = None) -> Explored:
        return Explored(
            relation_types=self.relation_type,
            min_weight=self.min_weight,
            as_of=self.as_of,
            known_at=self.known_at,
            user_id=user_id,
            session_id=session_id,
        )


class NeighborhoodQuery(WalkQuery):
    memory_id: Id
    max_hops: Annotated[int, Field(ge=1, le=5)] = 2
    max_nodes: Annotated[int, Field(ge=1, le=500)] = Field(
        default=50, description="Memories, the one asked about included: the nearest, and of these the strongest."
    )
    max_edges: Annotated[int, Field(ge=0, le=1000)] = Field(default=200, description="Edges, the strongest.")
    content_chars: Annotated[int, Field(ge=0, le=2000)] = Field(
        default=200, description="Characters of each text that are shown."
    )
    user_id: Omissible[Label] = Field(default=None, description="Of others than the one asked about.")
    session_id: Omissible[Label] = Field(default=None, description="Of others than the one asked about.")


class PathQuery(WalkQuery):
    source_id: Id
    target_id: Id
    max_hops: Annotated[int, Field(ge=1, le=5)] = 3
    by: PathOrder = PathOrder.strongest
    limit: Annotated[int, Field(ge=1, le=20)] = 5


@router.get("/neighborhood", summary="Show what surrounds a memory", responses=problems(404))
async def get_neighborhood(
    query: Annotated[NeighborhoodQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> Neighborhood:
    """Memories within some hops, and the edges among them, each once; the strongest first."""
    return await unless_disconnected(
        request,
        services.graph.explore.neighborhood(
            scope,
            query.memory_id,
            query.explored(query.user_id, query.session_id),
            max_hops=query.max_hops,
            max_nodes=query.max_nodes,
            max_edges=query.max_edges,
            content_chars=query.content_chars,
        ),
    )


@router.get("/paths", summary="Find paths between two memories", responses=problems(404))
async def find_paths(
    query: Annotated[PathQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> GraphPaths:
    """Paths over which a recall may walk, each memory on them once; the strongest, or those of fewest hops, first."""
    return await unless_disconnected(
        request,
        services.graph.explore.paths(
            scope,
            query.source_id,
            query.target_id,
            query.explored(),
            max_hops=query.max_hops,
            by=query.by,
            limit=query.limit,
        ),
    )
