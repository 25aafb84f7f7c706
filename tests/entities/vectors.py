"""An agent for which vectors of entities are made, and what changes what they are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import Database, driver
from engram.embeddings.base import Embedder
from engram.memories.changes.schemas import MemorySet, MemoryUpdate
from engram.memories.schemas import MemoryItem
from engram.recall.tuning import RecallTuning
from engram.services import Services, assemble
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from engram.tuning import Tuning
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import MeaningEmbedder

MEANINGS = ["payments invoices billing money", "lisbon city place", "tea kettle drink"]
WEIGHT, FLOOR = 0.8, 0.2


@asynccontextmanager
async def served(settings: Settings, embedder: Embedder, **changes: Any) -> AsyncIterator[Services]:
    assert settings.database_url is not None
    database = await Database.connect(settings.database_url.get_secret_value(), settings)
    try:
        changed = settings.model_copy(update={"entity_vectors": WEIGHT, "job_retry_seconds": 0.05, **changes})
        tuning = Tuning(recall=RecallTuning(entity_vectors_floor=FLOOR))
        yield await assemble(changed, database, embedder, tuning=tuning)
    finally:
        await database.close()


@pytest.fixture
def embedder() -> MeaningEmbedder:
    return MeaningEmbedder(MEANINGS)


@pytest.fixture
async def space(settings: Settings, embedder: MeaningEmbedder) -> AsyncIterator[Space]:
    """An agent for which vectors of entities are made."""
    async with served(settings, embedder) as services:
        yield await new_space(services)


async def about(space: Space, content: str, name: str = "Kestrel", **fields: Any) -> str:
    return (await space.remember(content, entities=[{"name": name, "role": "subject"}], **fields)).id


async def vectors(space: Space) -> dict[tuple[str, str], tuple[set[str], bytes, list[float]]]:
    """Of what each is made, the digest of its text, and the vector, by name and user."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT e.name, v.user_id, v.memory_ids, v.digest, v.embedding FROM entity_vectors v"
            " JOIN entities e ON e.agent_id = v.agent_id AND e.id = v.entity_id WHERE v.agent_id = $1",
            UUID(space.agent_id),
        )
    return {
        (row["name"], row["user_id"]): ({str(id) for id in row["memory_ids"]}, row["digest"], list(row["embedding"]))
        for row in rows
    }


async def delete(space: Space, id: str) -> None:
    await space.forget(id)


async def purge(space: Space, id: str) -> None:
    await space.services.changes.purges.purge(DEFAULT_SCOPE, id)


async def delete_and_purge(space: Space, id: str) -> None:
    await space.forget(id)
    await purge(space, id)


async def reword(space: Space, id: str) -> None:
    await space.services.changes.revisions.update(DEFAULT_SCOPE, id, MemoryUpdate(content="Kestrel is a bird."))


async def hide(space: Space, id: str) -> None:
    await space.services.changes.revisions.update(DEFAULT_SCOPE, id, MemoryUpdate(sensitivity="high"))


async def end(space: Space, id: str) -> None:
    update = MemoryUpdate(valid_until=datetime.now(UTC) + timedelta(microseconds=1))
    await space.services.changes.revisions.update(DEFAULT_SCOPE, id, update)


async def supersede(space: Space, id: str) -> None:
    item = MemoryItem(content="Kestrel is a bird.")
    await space.services.changes.setting.supersede(DEFAULT_SCOPE, id, item)


async def set_(space: Space, id: str) -> None:
    request = MemorySet(agent_id=space.agent_id, key="kestrel", content="Kestrel is a bird.")
    await space.services.changes.setting.set(DEFAULT_SCOPE, request)
