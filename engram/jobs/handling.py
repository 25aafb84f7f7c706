"""What a kind of job is to the worker: the interface of what does it, and what that may ask for."""

from __future__ import annotations

import asyncio
from typing import Protocol
from uuid import UUID

from engram.jobs.repository import JobRepository
from engram.jobs.rows import Work
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope


class Interrupted(Exception):
    """The worker is about to stop: the job goes on elsewhere, from where it came to."""


class JobFailed(Exception):
    """What a handler was to do could not be done. ``error`` is the class of what went wrong, and all that is kept."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Progress:
    """How far a job is, as its handler notes it between its steps."""

    def __init__(self, database: TenantDatabase, scope: Scope, job_id: UUID, stopping: asyncio.Event) -> None:
        self._database = database
        self._scope = scope
        self._job_id = job_id
        self._stopping = stopping

    async def measure(self, total: int, last: UUID | None = None) -> None:
        """There are so many memories to do, and this is the last of them."""
        async with self._database.transaction(self._scope) as connection:
            await JobRepository(connection, self._scope).measure(self._job_id, total, last)

    async def advance(self, done: int, reached: UUID | None = None) -> None:
        """So many more are done, up to this one. Raises Interrupted where the worker is to stop."""
        async with self._database.transaction(self._scope) as connection:
            await JobRepository(connection, self._scope).advance(self._job_id, done, reached)
        if self._stopping.is_set():
            raise Interrupted


class Handler(Protocol):
    """Does jobs of one kind. Doing one again, from its beginning or from where it came to, does no harm."""

    async def run(self, scope: Scope, work: Work, progress: Progress) -> None:
        """Do a job to its end. Raises whatever went wrong; it is tried again later."""
