"""What is purged is gone from everywhere, whatever is done to it in the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from engram import AsyncEngram
from engram.db.database import Database, driver
from engram.graph.assertions import EdgeAssertions
from engram.graph.schemas import EdgeCreate, RelationType
from engram.memories.changes.repository import ChangeRepository
from engram.memories.changes.schemas import MemorySet
from engram.memories.dedup import slot_hash
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space

WAIT_SECONDS = 30


@pytest.fixture
async def space(services: Services) -> Space:
    return await new_space(services)


async def set_owner(space: Space, content: str) -> UUID:
    request = MemorySet(agent_id=space.agent_id, key="owner", content=content)
    return UUID((await space.services.changes.setting.set(DEFAULT_SCOPE, request)).id)


@asynccontextmanager
async def purging(space: Space, id: UUID, beside: AsyncConnection) -> AsyncIterator[None]:
    """A purge that waits for what ``beside`` holds while the block runs, and is awaited by whoever ends that."""
    task = asyncio.create_task(space.services.changes.purges.purge(DEFAULT_SCOPE, str(id)))
    async with asyncio.timeout(WAIT_SECONDS):
        while not await driver(beside).fetchval(  # a lock sets no event
            "SELECT count(*) FROM pg_locks WHERE NOT granted"
        ):
            assert not task.done()
            await asyncio.sleep(0.01)
        yield
        await driver(beside).execute("COMMIT")
        assert (await task).memories == 1


async def test_what_an_edge_was_goes_where_it_changes_meanwhile(space: Space) -> None:
    services = space.services
    one, other = await space.remember("The lamp is lit"), await space.remember("The ships come in")
    await space.link(one.id, other.id, "causal", reason="because of zyxophones")
    async with services.database.transaction() as connection:
        edge = EdgeCreate(
            source_id=one.id, target_id=other.id, relation_type=RelationType.causal, reason="because it is so"
        )
        asserted = EdgeAssertions(connection, DEFAULT_SCOPE)
        await asserted.write(UUID(space.agent_id), [edge], datetime.now(UTC))
        async with purging(space, UUID(one.id), connection):
            pass
        await driver(connection).execute("BEGIN")
    async with services.database.snapshot() as connection:
        for table in ("edges", "edge_versions"):
            assert await driver(connection).fetchval(f"SELECT count(*) FROM {table}") == 0


async def test_a_value_is_purged_while_its_key_is_being_set(space: Space) -> None:
    value = await set_owner(space, "Ann owns it")
    async with space.services.database.transaction() as connection:
        changes = ChangeRepository(connection, DEFAULT_SCOPE)
        await changes.lock_slot(UUID(space.agent_id), slot_hash("owner", user_id=None, session_id=None))
        async with purging(space, value, connection):
            # As whoever sets a key goes on.
            assert value in await changes.lock(UUID(space.agent_id), [value])
        await driver(connection).execute("BEGIN")


WORD = "zyxophone"
STEM = "zyxoph"


async def holding(database: Database, word: str) -> dict[str, int]:
    """In how many rows of which tables a word stands, as text or as bytes."""
    async with database.snapshot() as connection:
        tables = await driver(connection).fetch(
            "SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        )
        found = {
            table["name"]: await driver(connection).fetchval(
                f"SELECT count(*) FROM {table['name']} t WHERE position($1 IN lower(t::text)) > 0"
                " OR position($2 IN t::text) > 0",
                word,
                word.encode().hex(),
            )
            for table in tables
        }
    return {table: rows for table, rows in found.items() if rows}


async def test_no_table_holds_a_word_of_what_was_purged(services: Services, engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk")
    other = await engram.memories.create(agent.id, "The ships come in at dawn")
    fields = {"tags": [WORD], "metadata": {WORD: WORD}, "entities": [f"{WORD} club".title()]}
    first = await engram.memories.set(agent.id, f"{WORD}/owner", f"Ann plays the {WORD}. " * 40, **fields)
    await engram.graph.create_edge(first.id, other.id, "causal", reason=f"the {WORD}", label=WORD)
    await engram.graph.create_edge(first.id, other.id, "causal", reason="the music")
    await engram.memories.update(first.id, content=f"Ann and Bob play the {WORD}")
    second = await engram.memories.set(agent.id, f"{WORD}/owner", f"Bob plays the {WORD}", entities=[WORD])
    await engram.memories.restore(first.id)
    await engram.memories.delete(second.id)
    assert {
        "memories",
        "memory_versions",
        "memory_terms",
        "entities",
        "entity_aliases",
        "edge_versions",
        "idempotency_keys",
    } <= set(await holding(services.database, STEM))
    for memory in (first, second):
        receipt = await engram.memories.purge(memory.id)
        assert (receipt.memories, WORD in str(receipt)) == (1, False)
    assert await holding(services.database, STEM) == {}
