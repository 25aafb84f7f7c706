"""What follows from a memory, made after it is safely stored: links and recognised entities.

A memory is committed together with a note of what is owed to it. Each projection then runs by itself; where it
succeeds, its notes go in the same transaction; where it fails, the memory stands, the failure is noted, and a job takes
it over. Two memories written at the same moment still find each other: each is committed before its projections look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import Database
from engram.memories.pending import Due, Owed, PendingRepository
from engram.telemetry.counting import projection_failed
from engram.telemetry.errors import described
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

log = structlog.get_logger(__name__)

FIRST_RETRY = timedelta(seconds=30)
"""How long what failed is left alone before a job takes it over: what passes by itself has passed then."""

CLAIM = timedelta(minutes=5)
"""How long what a job is being made for is left alone by others."""

Settle = Callable[[AsyncConnection], Awaitable[None]]
"""Called in a projection's last transaction: takes the notes away."""


class Projection(Protocol):
    """One thing that follows from memories. Running it twice leaves what running it once does."""

    @property
    def name(self) -> str: ...

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        """Make what is owed to these memories of one agent, and call ``settle`` in the transaction that does."""

    async def remove_stale(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        """Take away what earlier runs made of these memories and a run now would not make."""


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

    @property
    def projections(self) -> Sequence[Projection]:
        return self._projections

    async def run(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], *, changed: bool = False) -> bool:
        """Run all projections for memories that are committed: new ones, or some that have ``changed``. False where
        one failed; that never raises."""
        versions = dict.fromkeys(memory_ids, 1)
        if changed:
            try:
                async with self._tenants.snapshot(scope) as connection:
                    # Those of now: a change that comes meanwhile is owed to still.
                    versions = await PendingRepository(connection).versions(agent_id, memory_ids)
            except Exception as error:
                log.warning("projection.not_begun", agent_id=str(agent_id), error=described(error))
                return False
        errors = [await self._attempt(projection, scope, agent_id, versions) for projection in self._projections]
        return not any(errors)

    async def pending(self) -> int:
        """How many memories wait for something, over all tenants: a number for the operator."""
        return await self._database.ask(lambda connection: PendingRepository(connection).count())

    async def owed(self) -> Sequence[Owed]:
        """What is owed to memories, by projection, over all tenants."""
        return await self._database.ask(lambda connection: PendingRepository(connection).owed())

    async def claim_due(self, limit: int) -> Sequence[Due]:
        """What is due, the oldest first, to at most so many memories: others find nothing due of it for a while."""
        now = datetime.now(UTC)
        return await self._database.ask(lambda connection: PendingRepository(connection).claim(now, now + CLAIM, limit))

    async def make_up(self, scope: Scope, agent_id: UUID, name: str, job_id: UUID) -> tuple[int, str | None]:
        """Try what a job has taken over: for how many memories, and the class of an error where one was in the way.

        Memories that moved on are given up. All are tried together, and where that fails one by one: one that cannot
        be done does not hold up the others.
        """
        async with self._tenants.transaction(scope) as connection:
            pending = PendingRepository(connection)
            await pending.give_up_moved(agent_id, job_id)
            versions = await pending.of_job(agent_id, job_id)
        projection = next((one for one in self._projections if one.name == name), None)
        if projection is None:
            # Of a server with other projections, before or after this one.
            return len(versions), "UnknownProjection" if versions else None
        error = await self._attempt(projection, scope, agent_id, versions) if versions else None
        if error is None or len(versions) == 1:
            return len(versions), error
        errors = [
            await self._attempt(projection, scope, agent_id, {memory_id: version})
            for memory_id, version in versions.items()
        ]
        return len(versions), next((error for error in errors if error is not None), None)

    async def _attempt(
        self, projection: Projection, scope: Scope, agent_id: UUID, versions: Mapping[UUID, int]
    ) -> str | None:
        """The class of what went wrong; None where nothing did."""
        memory_ids = list(versions)

        async def settle(connection: AsyncConnection) -> None:
            await PendingRepository(connection).settle(agent_id, versions, projection.name)

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
            return type(error).__name__
        return None

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
                    next_attempt_at=datetime.now(UTC) + FIRST_RETRY,
                )
        except Exception as lost:
            # The note that the work is owed was committed with the memory: it is found all the same.
            log.warning("projection.note_failed", projection=name, error=described(lost))
