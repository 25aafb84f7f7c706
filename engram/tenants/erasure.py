"""SQL of erasing a tenant, as the owner of the schema. Every statement names the tenant, or an agent of it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.erasure import HELD_BY_AGENT, erase_agent
from engram.db.database import driver

_DELETION = 0x656E6772616D04


class ErasureRepository:
    def __init__(self, connection: AsyncConnection, tenant_id: UUID) -> None:
        self._connection = connection
        self._driver = driver(connection)
        self._tenant_id = tenant_id

    async def alone_has_keys(self) -> bool:
        """Whether all keys there are, revoked ones too, are this tenant's.

        Until the transaction ends no other tenant is deleted, and so none takes the keys that were seen with it.
        """
        await self._driver.execute("SELECT pg_advisory_xact_lock($1)", _DELETION)
        alone: bool = await self._driver.fetchval(
            """
            SELECT EXISTS (SELECT FROM api_keys WHERE tenant_id = $1)
                AND NOT EXISTS (SELECT FROM api_keys WHERE tenant_id <> $1)
            """,
            self._tenant_id,
        )
        return alone

    async def revoke_keys(self, now: datetime) -> None:
        await self._driver.execute(
            "UPDATE api_keys SET revoked_at = $2 WHERE tenant_id = $1 AND revoked_at IS NULL", self._tenant_id, now
        )

    async def some_agent(self) -> UUID | None:
        id: UUID | None = await self._driver.fetchval(
            "SELECT id FROM agents WHERE tenant_id = $1 ORDER BY name LIMIT 1", self._tenant_id
        )
        return id

    async def erase_some(self, table: str, agent_id: UUID, most: int) -> int:
        """Erase at most so many rows that an agent holds in a table of ``HELD_BY_AGENT``; how many there were."""
        assert table in HELD_BY_AGENT
        return await self._erase_some(table, "agent_id", agent_id, most)

    async def erase_some_of_tenant(self, table: str, most: int) -> int:
        """As ``erase_some``, of the tables that no agent holds: ``audit_log`` and ``idempotency_keys``."""
        return await self._erase_some(table, "tenant_id", self._tenant_id, most)

    async def _erase_some(self, table: str, column: str, id: UUID, most: int) -> int:
        done: str = await self._driver.execute(
            f"DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {column} = $1 LIMIT $2))",
            id,
            most,
        )
        return int(done.removeprefix("DELETE "))

    async def erase_agent(self, id: UUID) -> None:
        """Erase an agent with what it holds by now; writes that are under way to it are waited for."""
        await self._driver.execute(
            "SELECT FROM agents WHERE tenant_id = $1 AND id = $2 FOR UPDATE", self._tenant_id, id
        )
        await erase_agent(self._connection, id)

    async def hold(self) -> bool:
        """Keep everybody from adding agents, keys and events until the transaction ends; false where it is gone."""
        held = await self._driver.fetchval("SELECT true FROM tenants WHERE id = $1 FOR UPDATE", self._tenant_id)
        return held is not None

    async def erase_tenant(self) -> None:
        """Erase the tenant, which holds no agents any more, with its keys and what else is left of it."""
        for table in ("idempotency_keys", "audit_log", "api_keys"):
            await self._driver.execute(f"DELETE FROM {table} WHERE tenant_id = $1", self._tenant_id)
        await self._driver.execute("DELETE FROM tenants WHERE id = $1", self._tenant_id)
