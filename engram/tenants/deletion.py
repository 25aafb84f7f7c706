"""Deleting a tenant: closed first, then erased in small transactions, so that none holds others up."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.erasure import HELD_BY_AGENT
from engram.audit.schemas import Action
from engram.audit.service import Audit, Operator
from engram.db.database import Database
from engram.problems import ConflictProblem
from engram.tenants.erasure import ErasureRepository
from engram.tenants.models import DEFAULT_TENANT_ID

ROWS_AT_ONCE = 10_000


class TenantDeletion:
    """Runs as the owner of the schema. One that breaks off leaves a tenant that nobody can enter; begun again, it goes
    on."""

    def __init__(self, owner: Database, id: UUID, name: str, *, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self._database = owner
        self._id = id
        self._name = name
        self._rows_at_once = rows_at_once

    async def run(self) -> int:
        """Erase the tenant with all that it holds; how many agents it had.

        Raises ConflictProblem for the tenant that a server without keys serves, and for one whose keys are the only
        ones: without them the server would let everybody in.
        """
        if self._id == DEFAULT_TENANT_ID:
            raise ConflictProblem(f"The tenant {self._name!r} stays: a server without API keys serves it.")
        await self._close()
        agents = 0
        while (agent_id := await self._next_agent()) is not None:
            await self._erase_agent(agent_id)
            agents += 1
        for table in ("audit_log", "idempotency_keys"):
            await self._empty(table, None)
        return agents + await self._end()

    async def _close(self) -> None:
        async with self._database.transaction() as connection:
            await self._refuse_to_open(connection)
            await ErasureRepository(connection, self._id).revoke_keys(datetime.now(UTC))
            await Audit().record(
                connection, Operator(self._id), Action.tenant_delete, targets=[self._id], details={"name": self._name}
            )

    async def _refuse_to_open(self, connection: AsyncConnection) -> None:
        if await ErasureRepository(connection, self._id).alone_has_keys():
            raise ConflictProblem(
                f"Only {self._name!r} has API keys: without any, the server would ask nobody for one. "
                "First make one for another tenant: engram keys create --role admin --tenant NAME"
            )

    async def _next_agent(self) -> UUID | None:
        async with self._database.transaction() as connection:
            return await ErasureRepository(connection, self._id).some_agent()

    async def _erase_agent(self, id: UUID) -> None:
        for table in HELD_BY_AGENT:
            await self._empty(table, id)
        async with self._database.transaction() as connection:
            await ErasureRepository(connection, self._id).erase_agent(id)

    async def _empty(self, table: str, agent_id: UUID | None) -> None:
        erased = self._rows_at_once
        while erased == self._rows_at_once:
            async with self._database.transaction() as connection:
                rows = ErasureRepository(connection, self._id)
                if agent_id is None:
                    erased = await rows.erase_some_of_tenant(table, self._rows_at_once)
                else:
                    erased = await rows.erase_some(table, agent_id, self._rows_at_once)

    async def _end(self) -> int:
        """What came from requests that were under way as the tenant was closed, and the tenant itself."""
        agents = 0
        async with self._database.transaction() as connection:
            rows = ErasureRepository(connection, self._id)
            await self._refuse_to_open(connection)
            if await rows.hold():
                while (agent_id := await rows.some_agent()) is not None:
                    await rows.erase_agent(agent_id)
                    agents += 1
                await rows.erase_tenant()
        return agents
