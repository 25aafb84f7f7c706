"""A worker beside a test, and waiting for what it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from engram.db.database import driver
from engram.jobs.rows import Listing
from engram.jobs.schemas import Job, JobStatus
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE, Scope

WAIT_SECONDS = 60.0
"""How long anything may take that a test waits for."""


@asynccontextmanager
async def working(services: Services, patience: float = 10.0) -> AsyncIterator[None]:
    async with services.worker.running(patience):
        yield


async def let_time_pass(services: Services, time: timedelta) -> None:
    """What was to be tried at some time is to be tried that much earlier, also by the queue."""
    async with services.database.transaction() as connection:
        await driver(connection).execute(
            "UPDATE pending_projections SET next_attempt_at = next_attempt_at - $1::interval", time
        )
        await driver(connection).execute("UPDATE jobs SET due_at = due_at - $1::interval", time)
        await driver(connection).execute("UPDATE job_queue SET execute_after = execute_after - $1::interval", time)
        await driver(connection).execute("UPDATE job_queue_schedules SET next_run = next_run - $1::interval", time)


async def jobs_of(services: Services, status: JobStatus | None = None, scope: Scope = DEFAULT_SCOPE) -> list[Job]:
    """All jobs of a tenant, the latest first."""
    listing = Listing(status=status.value if status else None)
    return (await services.jobs.list(scope, listing, limit=200, cursor=None)).data


async def until(services: Services, job_id: str, *statuses: JobStatus) -> Job:
    """The job, once it has one of these statuses."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            job = await services.jobs.get(DEFAULT_SCOPE, job_id)
            if job.status in statuses:
                return job
            await asyncio.sleep(0.02)


async def until_the_queue_is_empty(services: Services) -> None:
    """A ticket is taken away a moment after its job has ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            async with services.database.snapshot() as connection:
                if not await driver(connection).fetchval("SELECT count(*) FROM job_queue"):
                    return
            await asyncio.sleep(0.02)


async def until_nothing_is_owed(services: Services) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await services.projector.pending():  # noqa: ASYNC110  # a job sets no event
            await asyncio.sleep(0.02)
