"""HTTP of jobs."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Query, Request, status

from engram.http.access import ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.jobs.rows import Listing
from engram.jobs.schemas import Job, JobKind, JobPage, JobsRetried, JobsRetry, JobStatus
from engram.wire import Id, Omissible

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class JobQuery(PageQuery):
    status: Omissible[JobStatus] = None
    kind: Omissible[JobKind] = None
    agent_id: Omissible[Id] = None


_RETRY = {"all": {"value": {}}, "one kind": {"value": {"kind": "projection"}}}


@router.get("/jobs", summary="List jobs", responses=problems(404))
async def list_jobs(
    query: Annotated[JobQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> JobPage:
    """What is done beside requests, the latest first. Those that are `dead` were given up."""
    listing = Listing(
        status=query.status.value if query.status is not None else None,
        kind=query.kind.value if query.kind is not None else None,
        agent_id=UUID(query.agent_id) if query.agent_id is not None else None,
    )
    return await unless_disconnected(
        request, services.jobs.list(scope, listing, limit=query.limit, cursor=query.cursor)
    )


@router.post("/jobs/retry", summary="Retry dead jobs", responses=problems(404, 409, *WITH_BODY))
async def retry_jobs(
    body: Annotated[JobsRetry, Body(openapi_examples=_RETRY)], services: ServicesDep, scope: WriterScope
) -> JobsRetried:
    """Lets dead jobs wait for a worker again: all of them, or those of an agent or of a kind."""
    return await services.jobs.retry_all(scope, body)


@router.get("/jobs/{job_id}", summary="Get a job", responses=problems(404))
async def get_job(job_id: Id, request: Request, services: ServicesDep, scope: ViewerScope) -> Job:
    """How far a job is."""
    return await unless_disconnected(request, services.jobs.get(scope, job_id))


@router.post(
    "/jobs/{job_id}/retry",
    summary="Retry a dead job",
    status_code=status.HTTP_202_ACCEPTED,
    responses=problems(404, 409),
)
async def retry_job(job_id: Id, services: ServicesDep, scope: WriterScope) -> Job:
    """Lets a dead job wait for a worker again, with all its attempts. Any other is left as it is."""
    return await services.jobs.retry(scope, job_id)


@router.post(
    "/agents/{agent_id}/rebuild-links",
    summary="Rebuild the links of an agent",
    status_code=status.HTTP_202_ACCEPTED,
    responses=problems(404, 409),
)
async def rebuild_links(agent_id: Id, services: ServicesDep, scope: WriterScope) -> Job:
    """Makes thematic links and recognised mentions anew, in a job. Where one is at it already, that is returned."""
    return await services.jobs.rebuild_links(scope, agent_id)


@router.post(
    "/agents/{agent_id}/entity-communities",
    summary="Compute the communities of an agent's entities",
    status_code=status.HTTP_202_ACCEPTED,
    responses=problems(404, 409),
)
async def find_communities(agent_id: Id, services: ServicesDep, scope: WriterScope) -> Job:
    """Puts entities that occur with each other into communities, in a job. Where one is at it already, that is
    returned. A server that is not set to compute any answers 409."""
    return await services.jobs.find_communities(scope, agent_id)
