"""Jobs as the repository gives them, and what lists are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from engram.jobs.schemas import JobKind


@dataclass(frozen=True, slots=True)
class Work:
    """A job that was begun: what its handler needs of it."""

    id: UUID
    agent_id: UUID
    kind: str
    projection: str | None
    attempts: int
    total: int | None
    reached: UUID | None
    last: UUID | None


@dataclass(frozen=True, slots=True)
class Ticket:
    """What the queue holds of a job."""

    tenant_id: UUID
    id: UUID
    kind: JobKind


@dataclass(frozen=True, slots=True)
class Listing:
    status: str | None = None
    kind: str | None = None
    agent_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class JobCount:
    """Jobs of all tenants that are not done, of one kind and status, and for how many seconds the oldest is there."""

    kind: str
    status: str
    jobs: int
    oldest_seconds: float
