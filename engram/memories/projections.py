"""What follows from a memory, made after it is safely stored: links and recognised entities.

A memory is committed together with a note of what is owed to it. Each projection then runs by itself; where it
succeeds, its notes go in the same transaction; where it fails, the memory stands, the failure is noted and tried
again. Two memories written at the same moment still find each other: each is committed before its projections look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import Database
from engram.memories.pending import Owed, PendingRepository
from engram.telemetry.counting import projection_failed
from engram.telemetry.errors import described
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope

log = structlog.get_logger(__name__)

FIRST_RETRY = timedelta(seconds=30)
LONGEST_RETRY = timedelta(hours=1)
RETRY_BATCH = 200

CLAIM = timedelta(minutes=5)
"""How long what is being retried is left alone by others: longer than any retry takes."""

Settle = Callable[[AsyncConnection], Awaitable[None]]
"""Called in a projection's last transaction: takes the notes away."""


class Projection(Protocol):
    """One thing that follows from memories. Running it twice leaves what running it once does."""

    @property
    def name(self) -> str: ...

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        """Make what is owed to these memories of one agent, and call ``settle`` in the transaction that does."""


class Projector:
    """Runs projections in a fixed order, each able to fail alone."""

    def __init__(self, database: Database, tenants: TenantDatabase, projections: Sequence[Projection]) -> None:
        """What is owed is found over all tenants, in ``database``; each failure is noted within its own."""
        self._database = database
        self._tenants = tenants
        self._projections = projections

    @property
    def names(self) -> list[str]:
        return [projection.name for projection in self._projections]

    async def run(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> bool:
        """Run all projections for memories that are committed. False where one failed; that never raises."""
        done = [await self._attempt(projection, scope, agent_id, memory_ids) for projection in self._projections]
        return all(done)

    async def pending(self) -> int:
        """How many memories wait for something, over all tenants: a number for the operator."""
        return await self._database.ask(lambda connection: PendingRepository(connection).count())

    async def owed(self) -> Sequence[Owed]:
        """What is owed to memories, by projection, over all tenants."""
        return await self._database.ask(lambda connection: PendingRepository(connection).owed())

    async def retry_due(self) -> int:
        """Try again what is due, oldest first, a bounded number; how many memories were tried."""
        now = datetime.now(UTC)
        # Claimed by moving their next attempt on: another process that looks now finds nothing due.
        due = await self._database.ask(
            lambda connection: PendingRepository(connection).claim(now, now + CLAIM, RETRY_BATCH)
        )
        tried = 0
        for projection in self._projections:
            for (tenant_id, agent_id), memory_ids in due.get(projection.name, {}).items():
                await self._retry(projection, Scope(tenant_id, Role.writer), agent_id, memory_ids)
                tried += len(memory_ids)
        return tried

    async def _retry(self, projection: Projection, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        """Together, and where that fails one by one: a memory that cannot be done must not hold up the others."""
        if await self._attempt(projection, scope, agent_id, memory_ids) or len(memory_ids) == 1:
            return
        for memory_id in memory_ids:
            await self._attempt(projection, scope, agent_id, [memory_id])

    async def retry_forever(self, pause: float) -> None:
        """Retry what is due every ``pause`` seconds, until cancelled."""
        while True:
            try:
                while await self.retry_due() >= RETRY_BATCH:
                    pass
            except Exception as error:
                log.warning("projections.retry_failed", error=described(error))
            await asyncio.sleep(pause)

    async def _attempt(self, projection: Projection, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> bool:
        async def settle(connection: AsyncConnection) -> None:
            await PendingRepository(connection).settle(agent_id, memory_ids, projection.name)

        try:
            await projection.project(scope, agent_id, memory_ids, settle)
        except Exception as error:
            log.warning(
                "projection.failed",
                projection=projection.name,
                agent_id=str(agent_id),
                memories=len(memory_ids),
                error=described(error),
            )
            projection_failed(projection.name)
            await self._note(scope, projection.name, agent_id, memory_ids, error)
            return False
        return True

    async def _note(
        self, scope: Scope, name: str, agent_id: UUID, memory_ids: Sequence[UUID], error: Exception
    ) -> None:
        try:
            async with self._tenants.transaction(scope) as connection:
                await PendingRepository(connection).note_failure(
                    agent_id,
                    memory_ids,
                    name,
                    error=type(error).__name__,
                    now=datetime.now(UTC),
                    first=FIRST_RETRY,
                    longest=LONGEST_RETRY,
                )
        except Exception as lost:
            # The note that the work is owed was committed with the memory: it is found all the same.
            log.warning("projection.note_failed", projection=name, error=described(lost))
