"""SQL of the audit log. Scope: every statement names the tenant, and the agent where a key is for one."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.audit.rows import Listing, NewEvent
from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.tenants.scope import Scope

_CLOCK_MOVES = 3_600_000
"""Milliseconds by which the time in an event's id may differ from when it was recorded: ids keep their order where the
clock is set back."""

_COLUMNS = "id, recorded_at, actor, key_id, key_prefix, action, agent_id, targets, details, request_id"


async def insert_event(connection: AsyncConnection, event: NewEvent) -> None:
    await driver(connection).execute(
        """
        INSERT INTO audit_log (
            tenant_id, id, recorded_at, actor, key_id, key_prefix, action, agent_id, targets, details, request_id
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11)
        """,
        event.tenant_id,
        event.id,
        event.recorded_at,
        event.actor,
        event.key_id,
        event.key_prefix,
        event.action,
        event.agent_id,
        list(event.targets),
        event.details,
        event.request_id,
    )


class AuditRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def page(self, listing: Listing, *, limit: int, after: UUID | None) -> list[dict[str, Any]]:
        """Events, the latest first, after the one of that id."""
        p = Parameters()
        clauses = [f"tenant_id = {p(self._tenant_id, 'uuid')}"]
        if self._only is not None:
            clauses.append(f"agent_id = {p(self._only, 'uuid')}")
        if listing.agent_id is not None:
            clauses.append(f"agent_id = {p(listing.agent_id, 'uuid')}")
        if listing.action is not None:
            clauses.append(f"action = {p(listing.action, 'text')}")
        if listing.since is not None:
            # By id too, which the log is ordered by: what is earlier is not read.
            clauses.append(f"recorded_at >= {p(listing.since, 'timestamptz')}")
            clauses.append(f"id >= {p(_first_id(listing.since, -_CLOCK_MOVES), 'uuid')}")
        if listing.until is not None:
            clauses.append(f"recorded_at < {p(listing.until, 'timestamptz')}")
            clauses.append(f"id < {p(_first_id(listing.until, _CLOCK_MOVES), 'uuid')}")
        if after is not None:
            clauses.append(f"id < {p(after, 'uuid')}")
        rows = await self._driver.fetch(
            f"SELECT {_COLUMNS} FROM audit_log WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT {p(limit, 'int')}",
            *p.values,
        )
        return [dict(row) for row in rows]


def _first_id(moment: datetime, later: int) -> UUID:
    """The least UUIDv7 of so many milliseconds after a moment."""
    return UUID(int=max(0, int(moment.timestamp() * 1000) + later) << 80)
