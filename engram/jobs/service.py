"""Use cases of jobs: ask for one, look, and try dead ones again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import structlog
from pydantic import TypeAdapter
from uuid_utils.compat import uuid7

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.db.database import Database
from engram.jobs.queue import QueueRepository
from engram.jobs.repository import AllJobs, JobRepository
from engram.jobs.rows import JobCount, Listing, Ticket
from engram.jobs.schemas import Job, JobKind, JobPage, JobsRetried, JobsRetry, JobStatus
from engram.paging import decode_cursor, encode_cursor
from engram.problems import ConflictProblem, NotFoundProblem
from engram.telemetry.errors import described
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.wire import Id

log = structlog.get_logger(__name__)

RETRIED_AT_ONCE = 1000

_ALONE = (JobKind.rebuild_links, JobKind.entity_communities)
"""Kinds of which an agent has one open job at a time."""

_CURSOR: TypeAdapter[tuple[Id]] = TypeAdapter(tuple[Id])


class JobService:
    def __init__(
        self, database: Database, tenants: TenantDatabase, agents: AgentService, *, communities: bool = False
    ) -> None:
        """Records are written within their tenant; tickets go to the queue as the server itself, in ``database``.
        ``communities``: whether any are computed."""
        self._database = database
        self._tenants = tenants
        self._agents = agents
        self._audit = Audit()
        self._communities = communities

    async def get(self, scope: Scope, id: str) -> Job:
        async with self._tenants.snapshot(scope) as connection:
            row = await JobRepository(connection, scope).get(UUID(id))
        if row is None:
            raise job_not_found(id)
        return Job.model_validate(row)

    async def list(self, scope: Scope, listing: Listing, *, limit: int, cursor: str | None) -> JobPage:
        """Jobs, the latest first. Raises NotFoundProblem where the listing names an agent that there is not."""
        after = UUID(decode_cursor(cursor, _CURSOR)[0]) if cursor is not None else None
        if listing.agent_id is not None:
            await self._agents.get(scope, str(listing.agent_id))
        async with self._tenants.snapshot(scope) as connection:
            rows = await JobRepository(connection, scope).page(listing, limit=limit + 1, after=after)
        data = [Job.model_validate(row) for row in rows[:limit]]
        return JobPage(data=data, next_cursor=encode_cursor(data[-1].id) if len(rows) > limit else None)

    async def rebuild_links(self, scope: Scope, agent_id: str) -> Job:
        """The job that makes an agent's links anew: a new one, or the one that is at it already."""
        return await self._ask(scope, UUID(agent_id), JobKind.rebuild_links, Action.agent_rebuild)

    async def find_communities(self, scope: Scope, agent_id: str) -> Job:
        """The job that computes the communities of an agent's entities: a new one, or the one that is at it already.

        Raises ConflictProblem where the server computes none.
        """
        if not self._communities:
            raise ConflictProblem("This server computes no communities: ENGRAM_ENTITY_COMMUNITIES is not true.")
        return await self._ask(scope, UUID(agent_id), JobKind.entity_communities, Action.agent_communities)

    async def _ask(self, scope: Scope, agent_id: UUID, kind: JobKind, action: Action) -> Job:
        """The job of a kind of which an agent has one at a time."""
        id = uuid7()
        async with self._tenants.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            jobs = JobRepository(connection, scope)
            if await jobs.insert(id, agent_id, kind, datetime.now(UTC)):
                await self._audit.record(connection, scope, action, agent_id=agent_id, targets=[id])
            row = await jobs.standing(agent_id, kind)
        if row is None:
            raise ConflictProblem("A job was at it already, and was done in the same moment; try again.")
        await self._hand_in([Ticket(scope.tenant_id, row["id"], kind)])
        return Job.model_validate(row)

    async def retry(self, scope: Scope, id: str) -> Job:
        """Let a dead job wait again; any other is left as it is. Raises ConflictProblem where another does the same."""
        job_id = UUID(id)
        async with self._tenants.transaction(scope) as connection:
            jobs = JobRepository(connection, scope)
            row = await jobs.get(job_id)
            if row is None:
                raise job_not_found(id)
            await self._agents.hold(connection, scope, row["agent_id"])
            if row["status"] == JobStatus.dead:
                if not await self._revive(jobs, row):
                    raise ConflictProblem(_ANOTHER)
                await self._audit.record(
                    connection, scope, Action.job_retry, agent_id=row["agent_id"], targets=[job_id]
                )
                row = await jobs.get(job_id)
                assert row is not None
        if row["status"] == JobStatus.waiting:
            await self._hand_in([Ticket(scope.tenant_id, job_id, JobKind(row["kind"]))])
        return Job.model_validate(row)

    async def retry_all(self, scope: Scope, request: JobsRetry) -> JobsRetried:
        """Let all dead jobs that fit wait again, the oldest first: at most ``RETRIED_AT_ONCE`` of them."""
        listing = Listing(
            agent_id=UUID(request.agent_id) if request.agent_id is not None else None,
            kind=request.kind.value if request.kind is not None else None,
        )
        async with self._tenants.transaction(scope) as connection:
            if listing.agent_id is not None:
                await self._agents.hold(connection, scope, listing.agent_id)
            jobs = JobRepository(connection, scope)
            dead = await jobs.dead(listing, RETRIED_AT_ONCE + 1)
            revived = [row for row in dead[:RETRIED_AT_ONCE] if await self._revive(jobs, row)]
            if revived:
                await self._audit.record(
                    connection,
                    scope,
                    Action.job_retry,
                    agent_id=listing.agent_id,
                    targets=[row["id"] for row in revived],
                )
        await self._hand_in([Ticket(scope.tenant_id, row["id"], JobKind(row["kind"])) for row in revived])
        return JobsRetried(retried=len(revived), more=len(dead) > RETRIED_AT_ONCE)

    async def count(self) -> Sequence[JobCount]:
        """Jobs that are not done, over all tenants: numbers for the operator."""
        return await self._database.ask(lambda connection: AllJobs(connection).count())

    async def _revive(self, jobs: JobRepository, row: dict[str, object]) -> bool:
        id, agent_id = row["id"], row["agent_id"]
        assert isinstance(id, UUID)
        assert isinstance(agent_id, UUID)
        kind = JobKind(str(row["kind"]))
        if kind in _ALONE and await jobs.standing(agent_id, kind) is not None:
            return False  # another one does the same work already
        try:
            return await jobs.revive(id, datetime.now(UTC))
        except asyncpg.UniqueViolationError:
            raise ConflictProblem(_ANOTHER) from None  # which came in this moment

    async def _hand_in(self, tickets: Sequence[Ticket]) -> None:
        if not tickets:
            return
        try:
            await self._database.ask(lambda connection: QueueRepository(connection).put(tickets))
        except Exception as error:
            # The records stand: a worker finds them without tickets, and hands those in.
            log.warning("job.not_queued", jobs=len(tickets), error=described(error))


_ANOTHER = "Another job does the same already, or has just done it."


def job_not_found(id: object) -> NotFoundProblem:
    return NotFoundProblem(f"There is no job {id}.")
