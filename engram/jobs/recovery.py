"""What finds work that nobody is at: owed to memories and due, or a record that the queue knows nothing of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from uuid_utils.compat import uuid7

from engram.agents.service import AgentService
from engram.db.database import Database
from engram.jobs.queue import QueueRepository
from engram.jobs.repository import AllJobs, JobRepository
from engram.jobs.rows import Ticket
from engram.jobs.schemas import JobKind
from engram.memories.pending import Due, PendingRepository
from engram.memories.projections import Projector
from engram.problems import NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope

MEMORIES_AT_ONCE = 200
"""Of all jobs that one look makes: a job is no longer than this."""

TICKETS_AT_ONCE = 1000

UNQUEUED_AFTER = timedelta(seconds=10)
"""How long whoever wrote a record has to hand in its ticket."""

KEPT_FOR = timedelta(days=7)
"""How long it can be seen that a job was done."""

FORGOTTEN_AT_ONCE = 1000


class Recovery:
    def __init__(self, database: Database, tenants: TenantDatabase, agents: AgentService, projector: Projector) -> None:
        self._database = database
        self._tenants = tenants
        self._agents = agents
        self._projector = projector

    async def recover(self) -> int:
        """Make jobs of what is due, and hand in the tickets that are missing; to how many memories something was due.

        Several servers may do so at once.
        """
        found = 0
        while True:
            due = await self._projector.claim_due(MEMORIES_AT_ONCE)
            tickets = [ticket for one in due if (ticket := await self._take_over(one)) is not None]
            await self._put(tickets)
            claimed = sum(len(one.memory_ids) for one in due)
            found += claimed
            if claimed < MEMORIES_AT_ONCE:
                break
        before = datetime.now(UTC) - UNQUEUED_AFTER
        await self._put(await self._database.ask(lambda asked: AllJobs(asked).unqueued(before, TICKETS_AT_ONCE)))
        return found

    async def forget(self) -> None:
        """Remove records of jobs that were done long ago, and what the queue noted then."""
        before = datetime.now(UTC) - KEPT_FOR
        while await self._database.ask(lambda asked: AllJobs(asked).forget(before, FORGOTTEN_AT_ONCE)):
            pass
        while await self._database.ask(lambda asked: QueueRepository(asked).forget_log(before, FORGOTTEN_AT_ONCE)):
            pass

    async def _take_over(self, due: Due) -> Ticket | None:
        scope, id = Scope(due.tenant_id, Role.writer), uuid7()
        try:
            async with self._tenants.transaction(scope) as connection:
                await self._agents.hold(connection, scope, due.agent_id)
                pending = PendingRepository(connection)
                if not await pending.hand_over(due.agent_id, due.memory_ids, due.projection, id):
                    return None  # done meanwhile, by whoever was late
                await JobRepository(connection, scope).insert(
                    id, due.agent_id, JobKind.projection, datetime.now(UTC), projection=due.projection
                )
        except NotFoundProblem:
            return None  # the agent is being deleted, with what is owed to it
        return Ticket(due.tenant_id, id, JobKind.projection)

    async def _put(self, tickets: list[Ticket]) -> None:
        if tickets:
            await self._database.ask(lambda asked: QueueRepository(asked).put(tickets))
