"""`agents.taxonomy`: an agent's top entities."""

from __future__ import annotations

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.client import AsyncAgentScope, AsyncEngram


async def test_it_shows_the_top_entities_by_degree_with_how_many_memories_name_them(bot: AsyncAgentScope) -> None:
    await bot.memories.create("one", entities=["The Ledger", "billing service", "Zyra"])
    await bot.memories.create("two", entities=["ledgers", "billing service"])
    await bot.memories.create("three", entities=["Alone"])
    await bot.memories.create("four", entities=["Alone"])
    shown = await bot.taxonomy()
    assert [(entity.name, entity.degree, entity.memories) for entity in shown.entities] == [
        ("billing service", 3, 2),
        ("ledger", 3, 2),
        ("zyra", 2, 1),
        ("alone", 0, 2),
    ]
    assert shown.entities[1].display_name == "The Ledger"
    assert (shown.agent_id, shown.communities.data, shown.truncated) == ((await bot.get()).id, [], False)
    short = await bot.taxonomy(limit=3)
    assert (short.entities, short.truncated) == (shown.entities[:3], True)


async def test_merged_entities_are_one(bot: AsyncAgentScope, web: httpx.AsyncClient) -> None:
    await bot.memories.create("one", entities=["Robert", "ledger"])
    await bot.memories.create("two", entities=["Bob", "ledger", "Zyra"])
    await bot.memories.create("three", entities=["Bob", "Robert"])
    agent = (await bot.get()).id
    await web.post("/v1/facts/merge", json={"agent_id": agent, "name": "Bob", "other": "Robert"})
    shown = (await bot.taxonomy()).entities
    assert [(entity.name, entity.memories) for entity in shown] == [("bob", 3), ("ledger", 2), ("zyra", 1)]


async def test_more_than_two_hundred_are_refused_and_nobody_has_none(bot: AsyncAgentScope, client: AsyncEngram) -> None:
    assert (await bot.taxonomy()).entities == []
    with pytest.raises(UnprocessableEntityError) as refused:
        await bot.taxonomy(limit=201)
    assert "less than or equal to 200" in refused.value.errors[0].message
    with pytest.raises(NotFoundError):
        await client.agents.taxonomy("01890a5d-ac96-774b-bcce-b302099a8057")
