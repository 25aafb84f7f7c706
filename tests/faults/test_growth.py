"""What must not grow with use: tables and indexes with agents, the work of a deletion with what stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engram import AsyncEngram
from engram.db.database import Database, driver
from engram.server.app import create_app
from engram.services import Services
from engram.settings import Settings
from tests.fixtures.spaces import new_space
from tests.fixtures.statistics import counted
from tests.fixtures.wiring import HashEmbedder, opened


async def relations(database: Database) -> int:
    """Tables, indexes and sequences of the database."""
    async with database.snapshot() as connection:
        return await driver(connection).fetchval("SELECT count(*) FROM pg_class")


async def rows_read(database: Database) -> int:
    """Rows read so far from tables of ours."""
    return await counted(
        database, "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables"
    )


async def test_another_agent_brings_no_table_and_no_index(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        await (await new_space(services)).remember("the first", entities=["Zyra"], session_id="s", tags=["t"])
        before = await relations(services.database)
        for _ in range(40):
            await (await new_space(services)).remember("another", entities=["Zyra"], session_id="s", tags=["t"])
        assert await relations(services.database) == before


async def test_deleting_one_memory_reads_no_more_among_many(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(threshold=0.9999)) as services:

        async def cost(held: int) -> int:
            space = await new_space(services)
            await space.remember_all(
                {"content": f"note {at} on things", "entities": ["Zyra"], "session_id": "s"} for at in range(held)
            )
            going = [await space.remember(f"going {at}", entities=["Zyra"], session_id="s") for at in range(5)]
            async with services.database.transaction() as connection:
                await driver(connection).execute("ANALYZE")
            before = await rows_read(services.database)
            for memory in going:
                await space.forget(memory.id)
            return await rows_read(services.database) - before

        few = await cost(100)
        many = await cost(1000)
        assert many < 3 * few


async def test_one_connection_is_enough_for_a_server(live_server_with: Callable[..., str]) -> None:
    async with AsyncEngram(live_server_with(pool_size=1, pool_timeout=20.0), max_retries=0) as engram:
        agent = await engram.agents.create("clerk")
        one, other = [await engram.memories.create(agent.id, text) for text in ("Alice moved", "Bob stayed")]
        await asyncio.gather(
            *(engram.memories.create(agent.id, f"Zyra {at}", entities=["Zyra"], session_id="s") for at in range(5)),
            *(engram.memories.recall(agent.id, "Zyra") for _ in range(5)),
            engram.graph.create_edge(one.id, other.id, "causal"),
            engram.graph.get_edges(one.id),
            engram.memories.get(one.id),
            engram.memories.create_many(agent.id, ["red", "green"]),
            engram.agents.stats(agent.id),
            engram.health(),
        )
        assert (await engram.agents.stats(agent.id)).memories == 9


def test_an_app_is_made_without_a_database() -> None:
    settings = Settings(database_url="postgresql://engram@127.0.0.1:9/engram")
    app = create_app(settings)
    assert app.openapi()["paths"]


async def test_agents_that_hold_the_same_see_their_own_alone_in_every_read(services: Services) -> None:
    spaces = [await new_space(services) for _ in range(3)]
    for space in spaces:
        await space.remember_all(
            {"content": f"Zyra {at}", "entities": ["Zyra"], "session_id": "s", "user_id": "u"} for at in range(4)
        )
    for space in spaces:
        shown = (await space.ask("Zyra", explain=True, top_k=200)).results
        assert {hit.agent_id for hit in shown} == {space.agent_id}
        own = {hit.id for hit in shown}
        assert len(own) == 4
        assert {step.memory_id for hit in shown for step in hit.path} <= own
        for id in own:
            assert {edge.target_memory_id for edge in await space.edges(id)} <= own
        assert (await space.stats()).memories == 4
