"""Values that the SQL of the audit log takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    tenant_id: UUID
    id: UUID
    recorded_at: datetime
    actor: str
    key_id: UUID | None
    key_prefix: str | None
    action: str
    agent_id: UUID | None
    targets: Sequence[UUID]
    details: str
    request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which events are asked for; None is any."""

    agent_id: UUID | None
    action: str | None
    since: datetime | None
    until: datetime | None
