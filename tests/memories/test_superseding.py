"""Superseding a memory by a text that stands already, while what says it goes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.service import EntityService
from engram.memories.removal import Removal
from engram.memories.schemas import MemoryCreated, MemoryItem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space

WAIT_SECONDS = 30


@pytest.fixture
async def space(services: Services) -> Space:
    return await new_space(services)


async def supersede(space: Space, id: str, content: str) -> MemoryCreated:
    return await space.services.changes.setting.supersede(DEFAULT_SCOPE, id, MemoryItem(content=content))


async def test_what_is_deleted_in_the_same_moment_takes_no_place(space: Space) -> None:
    old, twin = await space.remember("Ann is away"), await space.remember("Ann is at work")
    database = space.services.database
    async with database.transaction() as connection:
        removal = Removal(EntityService())
        await removal.delete_many(connection, DEFAULT_SCOPE, UUID(space.agent_id), [UUID(twin.id)])
        task = asyncio.create_task(supersede(space, old.id, "Ann is at work"))
        async with asyncio.timeout(WAIT_SECONDS):
            while not task.done() and not await driver(connection).fetchval(
                "SELECT count(*) FROM pg_locks WHERE NOT granted"
            ):
                await asyncio.wait({task}, timeout=0.01)
    new = await task
    assert (new.id != twin.id, new.status, new.deduplicated) == (True, "current", False)
    assert (await space.get(old.id)).superseded_by == new.id
    assert await space.texts("Ann") == ["Ann is at work"]


async def test_what_has_ended_takes_no_place(space: Space) -> None:
    old = await space.remember("Ann is away")
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    ended = await space.remember("Ann is at work", valid_until=soon)
    await asyncio.sleep(0.4)
    new = await supersede(space, old.id, "Ann is at work")
    assert (new.id != ended.id, new.valid_until) == (True, None)
    assert await space.texts("Ann") == ["Ann is at work"]
