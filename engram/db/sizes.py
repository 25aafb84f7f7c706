"""How much room our tables take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver


@dataclass(frozen=True, slots=True)
class TableSize:
    """Bytes of a table with what is stored beside it for long values, bytes of all its indexes, and about how many
    rows it has: below 0 before it was first counted."""

    table: str
    table_bytes: int
    index_bytes: int
    rows: float


async def table_sizes(connection: AsyncConnection, tables: Sequence[str]) -> list[TableSize]:
    """Of those tables that exist, by name. Reads no row of theirs, but waits for whoever locks one exclusively."""
    found = await driver(connection).fetch(
        """
        SELECT c.relname AS "table", pg_table_size(c.oid) AS table_bytes, pg_indexes_size(c.oid) AS index_bytes,
            c.reltuples::float8 AS rows
        FROM pg_class AS c WHERE c.oid = ANY (SELECT to_regclass(name) FROM unnest($1::text[]) AS name)
        ORDER BY c.relname
        """,
        list(tables),
    )
    return [TableSize(**row) for row in found]
