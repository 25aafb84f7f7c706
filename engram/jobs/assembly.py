"""A worker put together: which jobs there are, who does them, and what is periodic."""

from __future__ import annotations

from datetime import timedelta

from engram.agents.service import AgentService
from engram.db.database import Database
from engram.entities.communities.service import CommunityService
from engram.jobs.clustering import ChangedAgents, CommunityJobs
from engram.jobs.execution import Execution
from engram.jobs.handling import Handler
from engram.jobs.projecting import ProjectionJobs
from engram.jobs.rebuilding import RebuildingJobs
from engram.jobs.recovery import Recovery
from engram.jobs.retries import RetryPolicy
from engram.jobs.schedules import CLUSTER, EXPIRE, FORGET, RECOVER, Periodic, PurgeExpired
from engram.jobs.schemas import JobKind
from engram.jobs.worker import Worker
from engram.memories.projections import Projector
from engram.settings import Settings
from engram.tenants.database import TenantDatabase


def open_worker(
    settings: Settings,
    database: Database,
    tenants: TenantDatabase,
    agents: AgentService,
    projector: Projector,
    *,
    purge_expired: PurgeExpired | None = None,
    communities: CommunityService | None = None,
) -> Worker:
    """A worker over open services. ``purge_expired`` is called every hour, where it is given; so are communities
    computed of agents that have changed."""
    recovery = Recovery(database, tenants, agents, projector)
    handlers: dict[JobKind, Handler] = {
        JobKind.projection: ProjectionJobs(projector),
        JobKind.rebuild_links: RebuildingJobs(tenants, agents, projector),
    }
    policy = RetryPolicy(settings.job_attempts, timedelta(seconds=settings.job_retry_seconds))
    periodic = [
        Periodic("recover", RECOVER, recovery.recover, at_start=True),
        Periodic("forget", FORGET, recovery.forget),
    ]
    if purge_expired is not None:
        periodic.append(Periodic("expire", EXPIRE, purge_expired))
    if communities is not None:
        handlers[JobKind.entity_communities] = CommunityJobs(communities)
        periodic.append(Periodic("cluster", CLUSTER, ChangedAgents(database, tenants, agents).ask))
    return Worker(
        database,
        Execution(tenants, handlers, policy),
        periodic,
        lease=timedelta(seconds=settings.job_lease_seconds),
    )
