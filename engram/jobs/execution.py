"""One attempt at a job: begun, done, and noted, whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from pgqueuer.domain.errors import RetryRequested

from engram.jobs.handling import Handler, Interrupted, JobFailed, Progress
from engram.jobs.queue import Payload
from engram.jobs.repository import JobRepository
from engram.jobs.retries import RetryPolicy
from engram.jobs.rows import Work
from engram.jobs.schemas import JobKind
from engram.telemetry.errors import described
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope

log = structlog.get_logger(__name__)

LOST = "WorkerLost"
"""The error of a job whose workers died of it, one after the other."""


class Execution:
    """Runs handlers. Of what they raise the queue learns when to try again, and nothing else: messages may hold what
    users stored."""

    def __init__(self, database: TenantDatabase, handlers: Mapping[JobKind, Handler], policy: RetryPolicy) -> None:
        self._database = database
        self._handlers = handlers
        self._policy = policy
        self._running: set[asyncio.Task[object]] = set()
        self.stopping = asyncio.Event()

    @property
    def kinds(self) -> list[JobKind]:
        return list(self._handlers)

    def interrupt(self) -> None:
        """End what runs now, at its next await: it waits in the queue for another worker."""
        for task in self._running:
            task.cancel()

    async def attempt(self, payload: bytes | None) -> None:
        """Try the job of a ticket. Raises RetryRequested, and nothing else, where it is to be tried again."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            again = await self._attempt(Payload.model_validate_json(payload or b""))
        finally:
            self._running.discard(task)
        if again is not None:
            raise RetryRequested(again, reason="see its record")

    async def _attempt(self, ticket: Payload) -> timedelta | None:
        """After which pause the job is to be tried again; None where it has ended."""
        scope = Scope(ticket.tenant_id, Role.writer)
        work: Work | None = None
        try:
            async with self._database.transaction(scope) as connection:
                work = await JobRepository(connection, scope).begin(ticket.job_id, datetime.now(UTC))
            if work is not None:
                await self._run(scope, work)
        except (asyncio.CancelledError, Interrupted):
            return await self._interrupted(scope, work)
        except Exception as error:
            log.warning(
                "job.failed",
                job_id=str(ticket.job_id),
                kind=work.kind if work else None,
                attempt=work.attempts if work else None,
                error=described(error),
            )
            return await self._failed(scope, work, _class_of(error))
        return None

    async def _run(self, scope: Scope, work: Work) -> None:
        if work.attempts > self._policy.attempts:
            # Those before it never came to an end.
            raise JobFailed(LOST)
        handler = self._handlers[JobKind(work.kind)]
        await handler.run(scope, work, Progress(self._database, scope, work.id, self.stopping))
        async with self._database.transaction(scope) as connection:
            await JobRepository(connection, scope).finish(work.id, datetime.now(UTC))

    async def _interrupted(self, scope: Scope, work: Work | None) -> timedelta:
        if work is not None:
            await self._note(scope, work.id, timedelta(), None, counted=False)
        return timedelta()

    async def _failed(self, scope: Scope, work: Work | None, error: str) -> timedelta | None:
        if work is None:
            return self._policy.first
        pause = self._policy.pause(work.attempts)
        if await self._note(scope, work.id, pause, error):
            return pause
        # Not noted, it cannot be over: whoever takes it next sees that it was begun too often.
        return pause or self._policy.first

    async def _note(
        self, scope: Scope, job_id: UUID, pause: timedelta | None, error: str | None, *, counted: bool = True
    ) -> bool:
        now = datetime.now(UTC)
        try:
            async with self._database.transaction(scope) as connection:
                jobs = JobRepository(connection, scope)
                if pause is None:
                    await jobs.finish(job_id, now, dead_of=error)
                else:
                    await jobs.postpone(job_id, now + pause, error, counted=counted)
        except Exception as lost:
            log.warning("job.note_failed", job_id=str(job_id), error=described(lost))
            return False
        return True


def _class_of(error: Exception) -> str:
    return error.error if isinstance(error, JobFailed) else type(error).__name__
