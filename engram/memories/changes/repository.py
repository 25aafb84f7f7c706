"""SQL of changing memories. Scope: every statement names the tenant and the agent; the first look-up by id the tenant.

Rows are locked in the order of their ids, after the row of their slot where they have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.moments import aware
from engram.memories.changes.rows import TICK, Place, Standing
from engram.memories.rows import as_json
from engram.memories.versions.repository import VersionRepository
from engram.tenants.scope import Scope

_COLUMNS = ", ".join(Standing.__slots__)

MAX_LINEAGE = 1_000
"""Memories along which is looked for the one that stands at the end of a line of successors."""


class ChangeRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id
        self._versions = VersionRepository(connection, scope)

    async def find(self, id: UUID) -> Standing | None:
        """A memory in any state, not locked."""
        row = await self._driver.fetchrow(
            f"""
            SELECT {_COLUMNS} FROM memories
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) AND {of_seen_agent("memories")}
            """,
            id,
            self._tenant_id,
            self._only,
        )
        return _standing(row) if row else None

    async def lock(self, agent_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Standing]:
        """Those of these memories that there are, by id; until the transaction ends nobody else changes them."""
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS} FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])
            ORDER BY id FOR NO KEY UPDATE
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        return {row["id"]: _standing(row) for row in rows}

    async def lock_erasing(self, agent_id: UUID, id: UUID) -> Standing | None:
        """A memory that is about to be erased, locked with those that it superseded, all in order: who writes an edge
        to it waits for its end."""
        rows = await self._driver.fetch(
            f"""
            SELECT {_COLUMNS} FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY (ARRAY(
                SELECT $3 UNION ALL
                SELECT o.id FROM memories o WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.superseded_by = $3
            ))
            ORDER BY id FOR UPDATE
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        return next((_standing(row) for row in rows if row["id"] == id), None)

    async def lock_slot(self, agent_id: UUID, slot_hash: bytes) -> datetime:
        """Let nobody else write to a slot until the transaction ends, also where it is empty. Now, which is later than
        any of its values was changed, whatever the clocks of other servers say."""
        await self.hold_slot(agent_id, slot_hash)
        last: datetime | None = await self._driver.fetchval(
            "SELECT max(updated_at) FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND slot_hash = $3",
            agent_id,
            self._tenant_id,
            slot_hash,
        )
        now = datetime.now(UTC)
        return now if last is None else max(now, last + TICK)

    async def hold_slot(self, agent_id: UUID, slot_hash: bytes) -> None:
        """The same, without a moment. In one statement, or the row might go with the slot's last value in between."""
        await self._driver.execute(
            """
            INSERT INTO memory_slots (agent_id, slot_hash, tenant_id) VALUES ($1, $2, $3)
            ON CONFLICT (agent_id, slot_hash) DO UPDATE SET tenant_id = excluded.tenant_id WHERE false
            """,
            agent_id,
            slot_hash,
            self._tenant_id,
        )

    async def neighbours(
        self, agent_id: UUID, slot_hash: bytes, begins: datetime, *, but: UUID | None = None
    ) -> tuple[UUID | None, UUID | None]:
        """The value of a slot that begins last up to a moment, and the first that begins later.

        Those that were superseded and have ended by then are not the first: what came in their place is gone.
        """
        row = await self._driver.fetchrow(
            """
            SELECT (
                SELECT m.id FROM memories m
                WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.slot_hash = $3 AND m.valid_from <= $4
                    AND (m.status = 'current' OR (m.status = 'superseded' AND m.valid_until > $4))
                    AND m.id IS DISTINCT FROM $5
                ORDER BY m.valid_from DESC, m.id DESC LIMIT 1
            ) AS before, (
                SELECT m.id FROM memories m
                WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.slot_hash = $3 AND m.status <> 'deleted'
                    AND m.valid_from > $4 AND m.id IS DISTINCT FROM $5
                ORDER BY m.valid_from, m.id LIMIT 1
            ) AS after
            """,
            agent_id,
            self._tenant_id,
            slot_hash,
            begins,
            but,
        )
        assert row is not None  # two scalars
        return row["before"], row["after"]

    async def superseded(self, agent_id: UUID, id: UUID) -> bool:
        """Whether a memory took the place of another that stands."""
        found: bool = await self._driver.fetchval(
            """
            SELECT EXISTS (
                SELECT FROM memories m
                WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.superseded_by = $3 AND m.status <> 'deleted'
            )
            """,
            agent_id,
            self._tenant_id,
            id,
        )
        return found

    async def held_beside(self, agent_id: UUID, memory: Standing) -> bool:
        """Whether other values of a memory's slot held while it would have."""
        return bool(
            await self._driver.fetchval(
                """
                SELECT EXISTS (
                    SELECT FROM memories
                    WHERE agent_id = $1 AND tenant_id = $2 AND slot_hash = $3 AND id <> $4 AND status <> 'deleted'
                        AND (tstzrange(valid_from, valid_until) && tstzrange($5, $6)
                            OR earlier && tstzrange($5, $6))
                )
                """,
                agent_id,
                self._tenant_id,
                memory.slot_hash,
                memory.id,
                memory.valid_from,
                memory.valid_until,
            )
        )

    async def end_of_line(self, agent_id: UUID, id: UUID) -> UUID:
        """What a memory's successors lead to: the last of them."""
        last: UUID | None = await self._driver.fetchval(
            """
            WITH RECURSIVE line AS (
                SELECT m.id, m.superseded_by, 0 AS step FROM memories m
                WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = $3
                UNION ALL
                SELECT m.id, m.superseded_by, line.step + 1 FROM line
                JOIN memories m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = line.superseded_by
                WHERE line.step < $4
            )
            SELECT id FROM line ORDER BY step DESC LIMIT 1
            """,
            agent_id,
            self._tenant_id,
            id,
            MAX_LINEAGE,
        )
        return last or id

    async def held_after(self, agent_id: UUID, slot_hash: bytes, begins: datetime) -> list[UUID]:
        """Values of a slot with an earlier period of holding that reaches beyond a moment."""
        rows = await self._driver.fetch(
            """
            SELECT id FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND slot_hash = $3 AND status <> 'deleted'
                AND earlier && tstzrange($4, NULL)
            ORDER BY id
            """,
            agent_id,
            self._tenant_id,
            slot_hash,
            begins,
        )
        return [row["id"] for row in rows]

    async def place(self, agent_id: UUID, places: Sequence[Place], *, ended_by: str, now: datetime) -> None:
        """Put memories that are locked where they belong in time, and keep what they were."""
        await self._versions.archive(agent_id, [place.id for place in places], ended_by, now)
        # What makes room goes first: a slot has one current value at each step.
        for place in sorted(places, key=lambda place: (place.status == "current", place.id)):
            held = place.held_before or (None, None)
            await self._driver.execute(
                """
                UPDATE memories SET status = $4, valid_from = $5, valid_until = $6, superseded_by = $7,
                    deleted_at = NULL, version = version + 1, updated_at = $8,
                    earlier = CASE WHEN $9::timestamptz IS NULL THEN earlier
                        ELSE coalesce(earlier, '{}'::tstzmultirange) + tstzmultirange(tstzrange($9, $10)) END
                WHERE agent_id = $1 AND tenant_id = $2 AND id = $3
                """,
                agent_id,
                self._tenant_id,
                place.id,
                place.status,
                place.valid_from,
                place.valid_until,
                place.superseded_by,
                now,
                *held,
            )

    async def cut(
        self,
        agent_id: UUID,
        ids: Sequence[UUID],
        begins: datetime,
        ends: datetime | None,
        *,
        ended_by: str,
        now: datetime,
    ) -> None:
        """Take a period out of what memories that are locked held in earlier: something else held then."""
        rows = await self._driver.fetch(
            """
            SELECT id FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[]) AND earlier && tstzrange($4, $5)
            """,
            agent_id,
            self._tenant_id,
            list(ids),
            begins,
            ends,
        )
        overlapping = [row["id"] for row in rows]
        if not overlapping:
            return
        await self._versions.archive(agent_id, overlapping, ended_by, now)
        await self._driver.execute(
            """
            UPDATE memories SET earlier = nullif(earlier - tstzmultirange(tstzrange($4, $5)), '{}'),
                version = version + 1, updated_at = $6
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])
            """,
            agent_id,
            self._tenant_id,
            overlapping,
            begins,
            ends,
            now,
        )

    async def trim(self, agent_id: UUID, slot_hash: bytes, id: UUID) -> None:
        """Take out of what a value that was just placed held in earlier all that others of its slot held in."""
        await self._driver.execute(
            """
            UPDATE memories m SET earlier = nullif(m.earlier - others.held, '{}')
            FROM (
                SELECT range_agg(held) AS held FROM (
                    SELECT tstzmultirange(tstzrange(o.valid_from, o.valid_until)) + coalesce(o.earlier, '{}') AS held
                    FROM memories o
                    WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.slot_hash = $3 AND o.id <> $4
                        AND o.status <> 'deleted'
                ) AS each
            ) AS others
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = $4 AND m.earlier && others.held
            """,
            agent_id,
            self._tenant_id,
            slot_hash,
            id,
        )

    async def revise(self, agent_id: UUID, id: UUID, changes: dict[str, Any], *, now: datetime) -> None:
        """Change columns of a memory that is locked, and keep what it was."""
        await self._versions.archive(agent_id, [id], "update", now)
        values = [_REVISABLE[column](value) for column, value in sorted(changes.items())]
        assignments = ", ".join(f"{column} = ${place}" for place, column in enumerate(sorted(changes), start=5))
        await self._driver.execute(
            f"""
            UPDATE memories SET {assignments}, version = version + 1, updated_at = $4
            WHERE agent_id = $1 AND tenant_id = $2 AND id = $3
            """,
            agent_id,
            self._tenant_id,
            id,
            now,
            *values,
        )


def _same(value: Any) -> Any:
    return value


_REVISABLE = {
    "content": _same,
    "tags": _same,
    "metadata": as_json,
    "source": _same,
    "confidence": _same,
    "valid_from": _same,
    "valid_until": _same,
    "stated_until": _same,
    "declared_entities": as_json,
    "declared_relations": as_json,
    "declared_quantities": as_json,
    "sensitivity": _same,
    "withheld": _same,
    "dedup_hash": _same,
    "chunks": _same,
    "embedding": _same,
}
"""Columns that a revision may set, and how each travels. Their names stand in SQL: no others do."""


_MOMENTS = ("valid_from", "valid_until", "stated_until")


def _standing(row: asyncpg.Record) -> Standing:
    values = dict(row)
    values |= {name: aware(values[name]) for name in _MOMENTS}
    return Standing(**values)
