"""What is done beside requests: links that could not be made at once, and links that are made anew."""

from engram.client._arguments import AnyId, given, to_path
from engram.client._methods import Resource, acall, apages, call, pages
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.jobs.schemas import Job, JobKind, JobPage, JobsRetried, JobStatus


def list_jobs(
    *,
    status: JobStatus | str | None = None,
    kind: JobKind | str | None = None,
    agent_id: AnyId | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[Job]:
    """List jobs, the latest first.

    Args:
        status: Only those that are ``waiting``, ``running``, ``done`` or ``dead``.
        kind: Only those of a kind, ``projection`` or ``rebuild_links``.
        agent_id: Only those of this agent.
        limit: Jobs per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing("/v1/jobs", JobPage, given(status=status, kind=kind, agent_id=agent_id, limit=limit, cursor=cursor))


def get_job(job_id: AnyId) -> Operation[Job]:
    """Get a job, with how far it is. Raises NotFoundError where there is none, or it was done a week ago."""
    return Request("GET", to_path("/v1/jobs/{job_id}", job_id=job_id), Job)


def retry_job(job_id: AnyId) -> Operation[Job]:
    """Let a dead job wait for a worker again. Any other is left as it is."""
    return Request("POST", to_path("/v1/jobs/{job_id}/retry", job_id=job_id), Job)


def retry_dead_jobs(*, agent_id: AnyId | None = None, kind: JobKind | str | None = None) -> Operation[JobsRetried]:
    """Let dead jobs wait for a worker again, at most a thousand: all, or those of an agent or of a kind."""
    return Request("POST", "/v1/jobs/retry", JobsRetried, body=given(agent_id=agent_id, kind=kind))


class Jobs(Resource):
    list = pages(list_jobs)
    get = call(get_job)
    retry = call(retry_job)
    retry_dead = call(retry_dead_jobs)


class AsyncJobs(Resource):
    list = apages(list_jobs)
    get = acall(get_job)
    retry = acall(retry_job)
    retry_dead = acall(retry_dead_jobs)
