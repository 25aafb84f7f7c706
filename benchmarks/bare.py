"""The baseline of a recall: the nearest memories by vector, on the product's own table and connection settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from benchmarks.store import Store
from engram.embeddings.base import Vectors
from engram.memories.vectors import SEARCH_SETTINGS, VectorIndex

LIMIT = 50


class BareSearch:
    """Prepared statements on one connection, in a transaction with the product's settings of the HNSW search."""

    def __init__(self, index: VectorIndex, exact: PreparedStatement, indexed: PreparedStatement) -> None:
        self.index = index
        self._statements = {False: exact, True: indexed}

    async def nearest(self, agent_id: str, vector: Vectors, *, indexed: bool) -> list[asyncpg.Record]:
        """Rows of id and distance, the nearest first: through the index, or exactly."""
        rows: list[asyncpg.Record] = await self._statements[indexed].fetch(UUID(agent_id), vector)
        return rows


@asynccontextmanager
async def bare_search(store: Store) -> AsyncIterator[BareSearch]:
    async with store.connection() as connection, connection.transaction():
        await connection.execute(f"SELECT {SEARCH_SETTINGS}")
        row = await connection.fetchrow("SELECT id, dimension FROM embedding_models")
        assert row is not None, "the store is loaded"
        index = VectorIndex(row["id"], row["dimension"])
        statements = [await connection.prepare(_statement(index, indexed=indexed)) for indexed in (False, True)]
        yield BareSearch(index, *statements)


def _statement(index: VectorIndex, *, indexed: bool) -> str:
    distance = index.distance("m", "$2", indexed=indexed)
    return f"""
        SELECT m.id, {distance} AS distance FROM memories m WHERE m.agent_id = $1 AND {index.of_model("m")}
        ORDER BY {distance} LIMIT {LIMIT:d}
    """
