"""Who changed what and when: noted in the transaction of the change, so that neither is without the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import structlog
from pydantic import JsonValue, TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.audit.repository import AuditRepository, insert_event
from engram.audit.rows import Listing, NewEvent
from engram.audit.schemas import Action, Actor, AuditEvent, AuditPage
from engram.paging import decode_cursor, encode_cursor
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.wire import Id

_CURSOR: TypeAdapter[tuple[Id]] = TypeAdapter(tuple[Id])


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever runs a command on the server's own database, for one tenant."""

    tenant_id: UUID


class Audit:
    """Notes changes, in transactions of other domains."""

    async def record(
        self,
        connection: AsyncConnection,
        by: Scope | Operator,
        action: Action,
        *,
        targets: Sequence[UUID],
        agent_id: UUID | None = None,
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Note that ``action`` was done to ``targets``. ``details`` are counts and names of fields, never texts of
        memories."""
        key = by.key if isinstance(by, Scope) else None
        event = NewEvent(
            tenant_id=by.tenant_id,
            id=uuid7(),
            recorded_at=datetime.now(UTC),
            actor=_actor(by).value,
            key_id=key.id if key else None,
            key_prefix=key.prefix if key else None,
            action=action.value,
            agent_id=agent_id,
            targets=targets,
            details=json.dumps(dict(details or {})),
            request_id=structlog.contextvars.get_contextvars().get("request_id"),
        )
        await insert_event(connection, event)


class AuditService:
    """Shows what was noted."""

    def __init__(self, database: TenantDatabase) -> None:
        self._database = database

    async def list(self, scope: Scope, listing: Listing, *, limit: int, cursor: str | None) -> AuditPage:
        """Events, the latest first. Raises PermissionDeniedProblem for less than an admin."""
        after = UUID(decode_cursor(cursor, _CURSOR)[0]) if cursor is not None else None
        async with self._database.administration(scope) as connection:
            rows = await AuditRepository(connection, scope).page(listing, limit=limit + 1, after=after)
        data = [AuditEvent.model_validate(row) for row in rows[:limit]]
        return AuditPage(data=data, next_cursor=encode_cursor(data[-1].id) if len(rows) > limit else None)


def _actor(by: Scope | Operator) -> Actor:
    if isinstance(by, Operator):
        return Actor.operator
    return Actor.key if by.key is not None else Actor.anonymous
