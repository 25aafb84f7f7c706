"""Those who write names and those who change memories take their locks in one order."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

from engram.db.database import driver
from engram.entities.repository import EntityRepository
from engram.memories.changes.schemas import MemoryUpdate
from engram.memories.repository import COUNTER_SHARDS
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import new_space

WAIT_SECONDS = 30


async def test_an_update_waits_for_a_name_before_it_counts(services: Services) -> None:
    space = await new_space(services)
    memory, agent_id = await space.remember("The office moves"), UUID(space.agent_id)
    async with services.database.transaction() as connection:
        # As whoever writes another memory: its names first, then its counts.
        await EntityRepository(connection, DEFAULT_SCOPE).ensure(agent_id, {"zyra": {"Zyra"}}, {"zyra": uuid4()})
        update = MemoryUpdate.model_validate({"entities": ["Zyra"]})
        task = asyncio.create_task(services.changes.revisions.update(DEFAULT_SCOPE, memory.id, update))
        async with asyncio.timeout(WAIT_SECONDS):
            while not await driver(connection).fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                assert not task.done()
                await asyncio.wait({task}, timeout=0.01)
        await driver(connection).execute(
            """
            INSERT INTO agent_counters (agent_id, shard, tenant_id, memories, terms, passages)
            SELECT $1, shard, $2, 0, 0, 0 FROM generate_series(0, $3 - 1) AS shard
            ON CONFLICT (agent_id, shard) DO UPDATE SET memories = agent_counters.memories
            """,
            agent_id,
            DEFAULT_SCOPE.tenant_id,
            COUNTER_SHARDS,
        )
    async with asyncio.timeout(WAIT_SECONDS):
        await task
    assert await space.entities(memory.id) == {"Zyra": ("mention", False)}
