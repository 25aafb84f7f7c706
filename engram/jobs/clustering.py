"""Jobs that compute the communities of an agent's entities, and what asks for them by the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from engram.agents.service import AgentService
from engram.db.database import Database
from engram.entities.communities.service import CommunityService
from engram.jobs.handling import Progress
from engram.jobs.queue import QueueRepository
from engram.jobs.repository import AllJobs, JobRepository
from engram.jobs.rows import Ticket, Work
from engram.jobs.schemas import JobKind
from engram.problems import NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope

AGENTS_AT_ONCE = 1000


class CommunityJobs:
    def __init__(self, communities: CommunityService) -> None:
        self._communities = communities

    async def run(self, scope: Scope, work: Work, progress: Progress) -> None:
        """Interrupted, it begins anew: nothing of it is written before all is computed."""
        entities = await self._communities.compute(scope, work.agent_id)
        await progress.measure(entities)
        await progress.advance(entities)


class ChangedAgents:
    """Asks for a job for each agent that has changed since its communities were computed."""

    def __init__(self, database: Database, tenants: TenantDatabase, agents: AgentService) -> None:
        self._database = database
        self._tenants = tenants
        self._agents = agents

    async def ask(self) -> int:
        """How many jobs are new: ``AGENTS_AT_ONCE`` at the most, the agents that have waited longest first. Several
        servers may do so at once."""
        changed = await self._database.ask(lambda asked: AllJobs(asked).changed_communities(AGENTS_AT_ONCE))
        asked = [await self._one(*each) for each in changed]
        tickets = [ticket for ticket in asked if ticket is not None]
        if tickets:
            await self._database.ask(lambda asked: QueueRepository(asked).put(tickets))
        return len(tickets)

    async def _one(self, tenant_id: UUID, agent_id: UUID) -> Ticket | None:
        scope, id = Scope(tenant_id, Role.writer), uuid7()
        try:
            async with self._tenants.transaction(scope) as connection:
                await self._agents.hold(connection, scope, agent_id)
                jobs = JobRepository(connection, scope)
                if not await jobs.insert(id, agent_id, JobKind.entity_communities, datetime.now(UTC)):
                    return None  # another server was first
        except NotFoundProblem:
            return None  # the agent is being deleted
        return Ticket(tenant_id, id, JobKind.entity_communities)
