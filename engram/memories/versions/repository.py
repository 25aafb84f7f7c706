"""SQL of what memories were before. Scope: every statement names the agent, whose tenant was checked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope

_KEPT = (
    "status, user_id, session_id, key, slot_hash, valid_from, valid_until, stated_until, earlier, recorded_at,"
    " deleted_at, superseded_by, source, confidence, tags, metadata, declared_entities, chunks, asks,"
    " embedding_model_id, embedding, content"
)
"""What a state has of the memory's row, as it was."""


class VersionRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def archive(self, agent_id: UUID, ids: Sequence[UUID], ended_by: str, now: datetime) -> None:
        """Keep what these memories are, before they are changed at ``now``; ``ended_by`` says by what.

        The caller has locked them, and changes them after this: ``version`` goes up by one, and ``updated_at`` becomes
        ``now``. Raises asyncpg's CheckViolationError where one of them was changed at ``now`` or later. A memory whose
        words are out of the index, as a deleted one's are, is kept without words.
        """
        await self._driver.execute(
            f"""
            INSERT INTO memory_versions (
                agent_id, tenant_id, memory_id, version, recorded_from, recorded_until, ended_by, {_KEPT}, length,
                lexemes
            )
            SELECT
                m.agent_id, m.tenant_id, m.id, m.version, m.updated_at, $5, $4, {_of_memory(_KEPT)},
                coalesce(l.length, 0), coalesce(l.lexemes, ''::bytea)
            FROM memories m
            LEFT JOIN memory_lexemes l ON l.agent_id = $1 AND l.tenant_id = $2 AND l.memory_id = m.id
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = ANY ($3::uuid[])
            ORDER BY m.id
            """,
            agent_id,
            self._tenant_id,
            list(ids),
            ended_by,
            now,
        )


def _of_memory(columns: str) -> str:
    return ", ".join(f"m.{column}" for column in columns.split(", "))
