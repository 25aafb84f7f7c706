"""The baseline of a write: bare COPY of rows with their vectors into the same table, with the same indexes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import asyncpg

_COLUMNS = (
    "agent_id, id, tenant_id, status, user_id, session_id, valid_from, valid_until, recorded_at, updated_at, source,"
    " confidence, tags, metadata::text AS metadata, declared_entities::text AS declared_entities, dedup_hash, chunks,"
    " embedding_model_id, embedding, content"
)


async def written(connection: asyncpg.Connection, ids: Sequence[str]) -> list[asyncpg.Record]:
    """The rows of memories, whole but for what Postgres computes."""
    rows: list[asyncpg.Record] = await connection.fetch(
        f"SELECT {_COLUMNS} FROM memories WHERE id = ANY ($1::uuid[])", [UUID(id) for id in ids]
    )
    return rows


async def copy_in(connection: asyncpg.Connection, rows: Sequence[asyncpg.Record]) -> None:
    """COPY them into ``memories`` of another database that has their agent, and commit."""
    await connection.copy_records_to_table(
        "memories", records=[tuple(row) for row in rows], columns=list(rows[0].keys())
    )
