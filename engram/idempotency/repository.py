"""SQL of kept answers. Scope: every statement names the tenant; the digest holds the key that may ask for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """``fingerprint`` is of the request that was answered so."""

    fingerprint: bytes
    status: int
    body: bytes


class AnswerRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def find(self, digest: bytes, now: datetime) -> KeptAnswer | None:
        """The answer under a key, unless its time is over."""
        row = await self._driver.fetchrow(
            """
            SELECT fingerprint, status, body FROM idempotency_keys
            WHERE tenant_id = $1 AND digest = $2 AND expires_at > $3
            """,
            self._tenant_id,
            digest,
            now,
        )
        return KeptAnswer(**dict(row)) if row else None

    async def insert(
        self, digest: bytes, answer: KeptAnswer, agent_id: UUID | None, now: datetime, expires_at: datetime
    ) -> bool:
        """Keep an answer; false where one stands under the key."""
        kept = await self._driver.fetchval(
            """
            INSERT INTO idempotency_keys (
                tenant_id, digest, fingerprint, agent_id, status, body, recorded_at, expires_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (tenant_id, digest) DO NOTHING RETURNING true
            """,
            self._tenant_id,
            digest,
            answer.fingerprint,
            agent_id,
            answer.status,
            answer.body,
            now,
            expires_at,
        )
        return kept is not None

    async def remove_expired(self, digest: bytes, now: datetime) -> None:
        """Make room under a key whose answer's time is over, and which nobody swept away yet."""
        await self._driver.execute(
            "DELETE FROM idempotency_keys WHERE tenant_id = $1 AND digest = $2 AND expires_at <= $3",
            self._tenant_id,
            digest,
            now,
        )

    async def agent_of(self, memory_id: UUID) -> UUID | None:
        """The agent of a memory, also of a deleted one; None where it is erased."""
        agent_id: UUID | None = await self._driver.fetchval(
            "SELECT agent_id FROM memories WHERE id = $1 AND tenant_id = $2", memory_id, self._tenant_id
        )
        return agent_id


class ExpiredAnswers:
    """What a server sweeps away for all tenants. One statement, and a transaction by itself."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def forget(self, now: datetime, most: int) -> int:
        """Remove up to ``most`` answers whose time is over; how many there were."""
        forgotten: int = await self._driver.fetchval("SELECT engram_forget_answers($1, $2)", now, most)
        return forgotten
