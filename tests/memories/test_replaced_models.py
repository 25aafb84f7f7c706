"""Servers of two models on one database: the second may come where nothing was written, and the first has to notice."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from engram.problems import ConfigurationProblem
from engram.settings import Settings
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened


async def test_a_server_whose_model_was_replaced_neither_writes_nor_finds_nothing(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(8)) as first, opened(settings, HashEmbedder(16, name="other")) as second:
        space = await new_space(second)
        late = Space(first, space.agent_id)
        await space.remember("written by the second")
        for refused in (late.remember("written by the first"), late.ask("written"), late.ask(embedding=[1.0] * 8)):
            with pytest.raises(ConfigurationProblem, match="another embedding model"):
                await refused
        assert await space.texts("written") == ["written by the second"]
        assert (await space.stats()).memories == 1


async def test_a_first_memory_on_its_way_keeps_another_model_out(settings: Settings, database_url: str) -> None:
    administrator = await asyncpg.connect(database_url)
    watcher = await asyncpg.connect(database_url)

    async def waiting_for_locks(number: int) -> None:
        async with asyncio.timeout(15):
            while number != await watcher.fetchval(  # noqa: ASYNC110  # what happens in Postgres sets no event
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ):
                await asyncio.sleep(0.01)

    async with opened(settings, HashEmbedder(8)) as first:
        space = await new_space(first)

        async def start_second() -> None:
            async with opened(settings, HashEmbedder(16, name="other")):
                pass

        async with administrator.transaction():
            # The memory is inserted, and its transaction waits here.
            await administrator.execute("LOCK TABLE memory_lexemes IN ACCESS EXCLUSIVE MODE")
            writing = asyncio.create_task(space.remember("the first"))
            await waiting_for_locks(1)
            starting = asyncio.create_task(start_second())
            await waiting_for_locks(2)
        await writing
        with pytest.raises(ConfigurationProblem, match=r"embedded by test/hash \(8 dimensions\)"):
            await starting
        assert await space.texts("first") == ["the first"]
    await administrator.close()
    await watcher.close()
