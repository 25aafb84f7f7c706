"""An agent that is being imported: seen by nobody until all of it is there, and cleared away where that never comes.

Its row says ``importing``, and no look-up finds it or what it holds. Whoever imports notes every few seconds that the
import goes on. One that was silent for longer than ``LEASE`` has ended with its server: it is given up first, in the
row itself, so that an import that was only slow finds that it is over, and is then erased.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.erasure import HELD_BY_AGENT
from engram.db.database import Database
from engram.problems import UnavailableProblem
from engram.telemetry.errors import described
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope
from engram.transfer.importing.repository import AbandonedRepository, ImportRepository

log = structlog.get_logger(__name__)

LEASE = timedelta(seconds=60)
BEAT_SECONDS = 10.0
ROWS_AT_ONCE = 5_000
IMPORTS_AT_ONCE = 100


class Staging:
    """The agent of one import."""

    def __init__(self, database: TenantDatabase, scope: Scope, agent_id: UUID, model_id: int) -> None:
        self._database = database
        self.scope = scope
        self.agent_id = agent_id
        self._model_id = model_id

    def rows(self, connection: AsyncConnection) -> ImportRepository:
        return ImportRepository(connection, self.scope, self.agent_id, self._model_id)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[ImportRepository]:
        """A transaction of the import. Raises UnavailableProblem where the import was given up meanwhile.

        It does not wait for the disk: what a crash takes of it is no more than what a crash leaves to be erased.
        """
        async with self._database.transaction(self.scope, durable=False) as connection:
            rows = self.rows(connection)
            if not await rows.touch(datetime.now(UTC)):
                raise given_up()
            yield rows

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Notes that the import goes on, for as long as the block does; where that fails, all is erased."""
        beating = asyncio.create_task(self._beat())
        try:
            yield
        except BaseException:
            # Its client may be gone, which cancels this: what was begun is cleared away all the same.
            await asyncio.shield(asyncio.create_task(self.clear(datetime.now(UTC) + timedelta(days=1))))
            raise
        finally:
            beating.cancel()

    async def clear(self, silent_since: datetime) -> None:
        """Erase an import that has been silent since then. Where that fails it is left to be found later."""
        try:
            async with self._database.administration(self.scope) as connection:
                if not await self.rows(connection).give_up(silent_since):
                    return
            for table in HELD_BY_AGENT:
                erased = ROWS_AT_ONCE
                while erased == ROWS_AT_ONCE:
                    async with self._database.administration(self.scope) as connection:
                        erased = await self.rows(connection).erase_some(table, ROWS_AT_ONCE)
            async with self._database.administration(self.scope) as connection:
                await self.rows(connection).erase()
        except Exception as error:
            log.warning("import.not_cleared", agent_id=str(self.agent_id), error=described(error))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                async with self.writing():
                    pass
            except Exception as error:
                # The next batch meets the same, and tells whoever imports.
                log.warning("import.not_noted", agent_id=str(self.agent_id), error=described(error))


class AbandonedImports:
    """Clears away what imports left that ended with their server."""

    def __init__(self, database: Database, tenants: TenantDatabase) -> None:
        self._database = database
        self._tenants = tenants

    async def clear(self, *, of: UUID | None = None) -> int:
        """Those of all tenants, or of one; how many there were."""
        since = datetime.now(UTC) - LEASE
        found = await self._database.ask(
            lambda connection: AbandonedRepository(connection).find(since, IMPORTS_AT_ONCE)
        )
        for tenant_id, agent_id in found:
            if of is None or tenant_id == of:
                await Staging(self._tenants, Scope(tenant_id, Role.admin), agent_id, 0).clear(since)
        return len(found)

    async def clear_forever(self, pause: float) -> None:
        """Clear every ``pause`` seconds, until cancelled."""
        while True:
            try:
                await self.clear()
            except Exception as error:
                log.warning("imports.not_cleared", error=described(error))
            await asyncio.sleep(pause)


def given_up() -> UnavailableProblem:
    return UnavailableProblem(
        "The import took too long over one step, and was given up; begin it again.", retry_after=1
    )
