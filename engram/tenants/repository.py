"""SQL of tenants and keys.

An operator's statements run as the owner of the schema and name the tenant. What a server asks before it knows the
tenant goes through functions that answer one question each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.roles import Role

_KEY_COLUMNS = (
    "k.id, t.name AS tenant, k.name, k.prefix, k.role, k.agent_id, a.name AS agent, k.rate_limit, k.created_at,"
    " k.expires_at, k.revoked_at, k.last_used_at"
)


@dataclass(frozen=True, slots=True)
class NewKey:
    id: UUID
    agent_id: UUID | None
    name: str | None
    prefix: str
    digest: bytes
    role: Role
    rate_limit: str | None
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What a presented key opens, if it is neither ``expired`` nor ``revoked``."""

    id: UUID
    tenant_id: UUID
    agent_id: UUID | None
    role: str
    prefix: str
    rate_limit: str | None
    expired: bool
    revoked: bool


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """Keys that open something, and the tenants that they are of."""

    valid: int
    tenants: int


class TenantRepository:
    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def insert(self, id: UUID, name: str, now: datetime) -> bool:
        """Whether the tenant is new; where the name is taken, nothing changes."""
        made = await self._driver.fetchval(
            """
            INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING RETURNING true
            """,
            id,
            name,
            now,
        )
        return made is not None

    async def id_of(self, name: str) -> UUID | None:
        id: UUID | None = await self._driver.fetchval("SELECT id FROM tenants WHERE name = $1", name)
        return id

    async def agent_id(self, tenant_id: UUID, agent: str) -> UUID | None:
        """An agent of the tenant, by name or by its id as text."""
        id: UUID | None = await self._driver.fetchval(
            """
            SELECT id FROM agents WHERE tenant_id = $1 AND (name = $2 OR id::text = $2)
            ORDER BY name = $2 DESC LIMIT 1
            """,
            tenant_id,
            agent,
        )
        return id

    async def all(self, limit: int) -> list[dict[str, Any]]:
        rows = await self._driver.fetch(
            """
            SELECT t.id, t.name, t.created_at,
                (SELECT count(*) FROM agents a WHERE a.tenant_id = t.id) AS agents,
                (
                    SELECT count(*) FROM api_keys k
                    WHERE k.tenant_id = t.id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
                ) AS keys
            FROM tenants t ORDER BY t.name LIMIT $1
            """,
            limit,
        )
        return [dict(row) for row in rows]


class KeyRepository:
    """Keys of one tenant, or of all where an operator asks for all."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def insert(self, tenant_id: UUID, key: NewKey) -> None:
        await self._driver.execute(
            """
            INSERT INTO api_keys (
                tenant_id, id, agent_id, name, prefix, digest, role, rate_limit, created_at, expires_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """,
            tenant_id,
            key.id,
            key.agent_id,
            key.name,
            key.prefix,
            key.digest,
            key.role.value,
            key.rate_limit,
            key.created_at,
            key.expires_at,
        )

    async def all(self, tenant_id: UUID | None, limit: int) -> list[dict[str, Any]]:
        """Keys, the latest first; of all tenants where none is named."""
        rows = await self._driver.fetch(
            f"""
            SELECT {_KEY_COLUMNS}
            FROM api_keys k JOIN tenants t ON t.id = k.tenant_id LEFT JOIN agents a ON a.id = k.agent_id
            WHERE $1::uuid IS NULL OR k.tenant_id = $1
            ORDER BY k.id DESC LIMIT $2
            """,
            tenant_id,
            limit,
        )
        return [dict(row) for row in rows]

    async def counts(self) -> KeyCounts | None:
        """Of all tenants; None for a role that may not see keys."""
        if not await self._driver.fetchval("SELECT has_table_privilege('api_keys', 'SELECT')"):
            return None
        row = await self._driver.fetchrow(
            """
            SELECT count(*) AS valid, count(DISTINCT tenant_id) AS tenants FROM api_keys
            WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
            """
        )
        assert row is not None  # aggregates give one row always
        return KeyCounts(**dict(row))

    async def matching(self, text: str, digest: bytes | None) -> list[tuple[UUID, UUID, str, bool]]:
        """(tenant, id, prefix, whether it is revoked) of keys whose prefix or id a text is, or of the one with a
        digest; at most three."""
        rows = await self._driver.fetch(
            """
            SELECT tenant_id, id, prefix, revoked_at IS NOT NULL AS revoked FROM api_keys
            WHERE prefix = $1 OR id::text = $1 OR digest = $2 ORDER BY id LIMIT 3
            """,
            text,
            digest,
        )
        return [(row["tenant_id"], row["id"], row["prefix"], row["revoked"]) for row in rows]

    async def revoke(self, tenant_id: UUID, id: UUID, now: datetime) -> None:
        await self._driver.execute(
            "UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3) WHERE tenant_id = $1 AND id = $2",
            tenant_id,
            id,
            now,
        )


class PresentedKeys:
    """What a server asks of keys, whoever they belong to. Each is one statement, and a transaction by itself."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def by_digest(self, digest: bytes) -> KnownKey | None:
        row = await self._driver.fetchrow("SELECT * FROM engram_authenticate($1)", digest)
        return KnownKey(**dict(row)) if row else None

    async def any_exist(self) -> bool:
        """Whether a key was ever made, in any tenant."""
        found: bool = await self._driver.fetchval("SELECT engram_has_keys()")
        return found

    async def note_use(self, moments: Mapping[UUID, datetime]) -> None:
        await self._driver.execute(
            "SELECT engram_note_key_use($1::uuid[], $2::timestamptz[])", list(moments), list(moments.values())
        )
