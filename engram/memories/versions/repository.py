"""SQL of what memories were before. Scope: every statement names the agent, whose tenant was checked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.db.portions import portion, shown
from engram.memories.models import WIRE_BYTES
from engram.tenants.scope import Scope

_KEPT = (
    "status, user_id, session_id, key, slot_hash, valid_from, valid_until, stated_until, earlier, recorded_at,"
    " deleted_at, superseded_by, source, confidence, tags, metadata, declared_entities, declared_relations,"
    " declared_quantities, sensitivity, withheld, chunks, asks, embedding_model_id, embedding, content"
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


MAX_LINE = 10_000
"""Memories whose states one history tells of."""

_SHOWN = (
    "agent_id, content, key, user_id, session_id, tags, metadata, source, confidence, valid_from, valid_until,"
    " recorded_at, superseded_by, status, version"
)
_COLUMNS = f"id, {_SHOWN}, updated_at, recorded_until, ended_by"


class HistoryRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def line(self, id: UUID) -> tuple[UUID, list[UUID]] | None:
        """A memory's agent, and the memories of its line: the values of its key, or what superseded it and what it
        superseded. None where there is no such memory; a deleted one has its line too."""
        row = await self._driver.fetchrow(
            f"""
            SELECT agent_id, slot_hash FROM memories
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) AND {of_seen_agent("memories")}
            """,
            id,
            self._tenant_id,
            self._only,
        )
        if row is None:
            return None
        agent_id: UUID = row["agent_id"]
        if row["slot_hash"] is not None:
            found = await self._driver.fetch(
                """
                SELECT id FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND slot_hash = $3
                ORDER BY valid_from DESC LIMIT $4
                """,
                agent_id,
                self._tenant_id,
                row["slot_hash"],
                MAX_LINE,
            )
        else:
            found = await self._driver.fetch(
                """
                WITH RECURSIVE line AS (
                    SELECT m.id, m.superseded_by FROM memories m
                    WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = $3
                    UNION
                    SELECT m.id, m.superseded_by FROM line
                    CROSS JOIN LATERAL (
                        SELECT l.id, l.superseded_by FROM memories l
                        WHERE l.agent_id = $1 AND l.tenant_id = $2 AND l.id = line.superseded_by
                        UNION ALL
                        SELECT e.id, e.superseded_by FROM memories e
                        WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.superseded_by = line.id
                    ) AS m
                )
                SELECT id FROM line LIMIT $4
                """,
                agent_id,
                self._tenant_id,
                id,
                MAX_LINE,
            )
        return agent_id, sorted({id, *(each["id"] for each in found)})

    async def page(
        self, agent_id: UUID, ids: Sequence[UUID], *, limit: int, after: tuple[datetime, UUID, int] | None
    ) -> tuple[list[dict[str, Any]], bool]:
        """States of these memories, the latest known first: at most ``limit``, and whether there are more."""
        p = Parameters()
        agent, tenant, wanted = p(agent_id, "uuid"), p(self._tenant_id, "uuid"), p(list(ids), "uuid[]")
        states = f"""
            SELECT id, {_SHOWN}, updated_at, NULL::timestamptz AS recorded_until, NULL::text AS ended_by
            FROM memories WHERE agent_id = {agent} AND tenant_id = {tenant} AND id = ANY ({wanted})
            UNION ALL
            SELECT memory_id, {_SHOWN}, recorded_from, recorded_until, ended_by
            FROM memory_versions WHERE agent_id = {agent} AND tenant_id = {tenant} AND memory_id = ANY ({wanted})
        """
        where = ""
        if after is not None:
            moment, id, version = after
            place = f"({p(moment, 'timestamptz')}, {p(id, 'uuid')}, {p(version, 'int')})"
            where = f"WHERE (updated_at, id, version) < {place}"
        order = "updated_at DESC, id DESC, version DESC"
        rows = await self._driver.fetch(
            portion(
                f"SELECT {_COLUMNS} FROM ({states}) AS states {where} ORDER BY {order} LIMIT {p(limit, 'int')} + 1",
                columns=_COLUMNS,
                size=WIRE_BYTES,
                order=order,
                limit=p(limit, "int"),
            ),
            *p.values,
        )
        return shown(rows)
