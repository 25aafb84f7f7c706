"""SQL of embedding models: small, shared by all tenants, touched at start only."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.embeddings.base import EmbeddingModel

_REGISTRATION_LOCK = 0x656E6772616D02


class EmbeddingModelRepository:
    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def lock(self) -> None:
        """Until the transaction ends nobody else registers a model: processes start together."""
        await self._driver.execute("SELECT pg_advisory_xact_lock($1)", _REGISTRATION_LOCK)

    async def all(self) -> list[tuple[int, str, str, int]]:
        rows = await self._driver.fetch("SELECT id, provider, name, dimension FROM embedding_models ORDER BY id")
        return [tuple(row) for row in rows]

    async def in_use(self) -> bool:
        found: bool = await self._driver.fetchval("SELECT EXISTS (SELECT FROM memories)")
        return found

    async def insert(self, model: EmbeddingModel) -> int:
        id: int = await self._driver.fetchval(
            "INSERT INTO embedding_models (provider, name, dimension) VALUES ($1, $2, $3) RETURNING id",
            model.provider,
            model.name,
            model.dimension,
        )
        return id

    async def remove(self, id: int) -> None:
        await self._driver.execute("DELETE FROM embedding_models WHERE id = $1", id)

    async def has_index(self, name: str) -> bool:
        """Asked before making one: CREATE INDEX IF NOT EXISTS stops all writers even where it then does nothing."""
        found: bool = await self._driver.fetchval("SELECT to_regclass($1) IS NOT NULL", name)
        return found

    async def execute(self, statement: str) -> None:
        await self._driver.execute(statement)
