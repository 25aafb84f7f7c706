"""Writers, deletions and time against each other."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from uuid import UUID

from engram.agents.schemas import AgentCreate
from engram.db.database import Database, driver
from engram.memories.schemas import MemoryBatch, MemoryCreate
from engram.problems import NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space

AGENT_TABLES = (
    *("memories", "memory_terms", "mentions", "entities", "entity_aliases", "edges"),
    *("pending_projections", "agent_counters"),
)


async def rows_of(database: Database, agent_id: str) -> dict[str, int]:
    async with database.snapshot() as connection:
        return {
            table: await driver(connection).fetchval(
                f"SELECT count(*) FROM {table} WHERE agent_id = $1", UUID(agent_id)
            )
            for table in AGENT_TABLES
        }


async def test_an_agent_deleted_while_it_is_written_to_leaves_nothing(services: Services) -> None:
    for _ in range(10):
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="fleeting"))

        async def write(at: int, agent_id: str = agent.id) -> None:
            with contextlib.suppress(NotFoundProblem):
                await services.memories.create(
                    DEFAULT_SCOPE,
                    MemoryCreate(agent_id=agent_id, content=f"note {at} on Zyra", entities=["Zyra"], session_id="s"),
                )

        await asyncio.gather(*(write(at) for at in range(6)), services.agents.delete(DEFAULT_SCOPE, agent.id))
        assert set((await rows_of(services.database, agent.id)).values()) == {0}


async def test_deleting_memories_and_their_agent_at_once_never_deadlocks(services: Services) -> None:
    for _ in range(10):
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="fleeting"))
        items = [{"content": f"note {at} on Zyra", "entities": ["Zyra"]} for at in range(8)]
        batch = MemoryBatch.model_validate({"agent_id": agent.id, "items": items})
        written = await services.memories.create_many(DEFAULT_SCOPE, batch)

        async def forget(id: str) -> None:
            with contextlib.suppress(NotFoundProblem):
                await services.memories.delete(DEFAULT_SCOPE, id)

        await asyncio.gather(
            *(forget(result.id) for result in written.results), services.agents.delete(DEFAULT_SCOPE, agent.id)
        )


async def test_what_has_ended_can_be_said_again(space: Space) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    ended = await space.remember("Ann is on holiday", valid_from=yesterday - timedelta(days=7), valid_until=yesterday)
    ended_again = await space.remember(
        "Ann is on holiday", valid_from=yesterday - timedelta(days=7), valid_until=yesterday
    )
    assert (ended_again.id, ended_again.deduplicated) == (ended.id, True)


async def test_a_write_is_not_swallowed_by_a_twin_that_has_ended(space: Space) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    first = await space.remember("Ann is on holiday", valid_until=soon)
    assert (await space.remember("Ann is on holiday")).id == first.id
    await asyncio.sleep(0.4)
    assert await space.texts("Ann") == []
    again = await space.remember("Ann is on holiday")
    assert not again.deduplicated
    assert await space.texts("Ann") == ["Ann is on holiday"]
    assert (await space.remember("Ann is on holiday")).id == again.id
