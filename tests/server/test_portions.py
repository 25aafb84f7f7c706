"""Pages of what is too large to be shown together."""

from __future__ import annotations

import httpx

from engram import AsyncEngram
from engram.agents.schemas import Agent

LARGE = {"text": "🜨" * 190_000}
"""Metadata of 760 kB: eleven such are under 8 MiB, twelve are over."""


async def test_a_page_of_large_memories_ends_early_and_the_list_is_complete(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    written = [(await engram.memories.create(agent.id, f"memory {at}", metadata=LARGE)).id for at in range(23)]
    asked = {"agent_id": agent.id, "limit": 200}
    page = (await http.get("/v1/memories", params=asked)).json()
    assert [memory["id"] for memory in page["data"]] == written[:-12:-1]
    assert page["next_cursor"] is not None
    assert page["data"][0]["metadata"] == LARGE
    assert [memory.id async for memory in engram.memories.list(agent.id, limit=200)] == written[::-1]
    assert [memory.id async for memory in engram.memories.list(agent.id, limit=11)] == written[::-1]


async def test_a_page_that_fits_is_the_last(engram: AsyncEngram, agent: Agent) -> None:
    for at in range(11):
        await engram.memories.create(agent.id, f"memory {at}", metadata=LARGE)
    for limit in (11, 200):
        page = await engram.memories.list(agent.id, limit=limit)
        assert (len(page.data), page.next_cursor) == (11, None)


async def test_a_page_of_agents_with_much_metadata_ends_early_and_the_list_is_complete(
    engram: AsyncEngram, http: httpx.AsyncClient
) -> None:
    names = [f"agent {at:02}" for at in range(13)]
    for name in names:
        await engram.agents.create(name, metadata=LARGE)
    page = (await http.get("/v1/agents", params={"limit": 200})).json()
    assert [found["name"] for found in page["data"]] == names[:11]
    assert [found.name async for found in engram.agents.list(limit=200)] == names
