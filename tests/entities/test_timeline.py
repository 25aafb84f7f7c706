"""`memories.timeline`: an entity's memories in time order."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.client import AsyncAgentScope, AsyncEngram

MONTHS = ("2026-03-01", "2026-01-01", "2026-02-01")


async def texts(bot: AsyncAgentScope, entity: str, **asked: object) -> list[str]:
    return [memory.content async for memory in bot.memories.timeline(entity, **asked)]  # type: ignore[arg-type]


@pytest.fixture
async def months(bot: AsyncAgentScope) -> AsyncAgentScope:
    """Written out of order; two begin at the same moment."""
    for month in MONTHS:
        await bot.memories.create(f"since {month}", entities=["The Ledger's"], valid_from=month)
    await bot.memories.create("of another", entities=["Zyra"], valid_from="2026-01-15")
    await bot.memories.create("beside", entities=["ledger", "Zyra"], valid_from="2026-02-01", user_id="ann")
    return bot


async def test_an_entitys_memories_are_in_time_order_in_either_direction_and_page_by_page(
    months: AsyncAgentScope,
) -> None:
    expected = ["since 2026-01-01", "since 2026-02-01", "beside", "since 2026-03-01"]
    for limit in (1, 2, 50):
        assert await texts(months, "ledgers", limit=limit) == expected
        assert await texts(months, "ledger", order="newest", limit=limit) == expected[::-1]


async def test_it_is_restricted_as_a_list_is(months: AsyncAgentScope) -> None:
    assert await texts(months, "ledger", user_id="ann") == ["beside"]
    assert await texts(months, "ledger", session_id="s") == []
    between = {"valid_from": "2026-01-02", "valid_until": "2026-03-01"}
    assert await texts(months, "ledger", **between) == ["since 2026-02-01", "beside"]
    assert await texts(months, "ledger", as_of="2026-01-20") == ["since 2026-01-01"]
    assert await texts(months, "ledger", known_at="2020-01-01") == []


async def test_what_was_superseded_is_shown_where_that_is_asked_or_as_it_held(bot: AsyncAgentScope) -> None:
    await bot.memories.set("home", "in Porto", entities=["Alice"], valid_from="2026-01-01")
    known = datetime.now(UTC)
    await bot.memories.set("home", "in Lisbon", entities=["Alice"], valid_from="2026-03-01")
    gone = await bot.memories.create("gone", entities=["Alice"])
    await bot.memories.delete(gone.id)
    assert await texts(bot, "alice") == ["in Lisbon"]
    assert await texts(bot, "alice", include_superseded=True) == ["in Porto", "in Lisbon"]
    assert await texts(bot, "alice", as_of="2026-02-01") == ["in Porto"]
    assert await texts(bot, "alice", known_at=known) == ["in Porto"]


async def test_merged_names_have_one_timeline(bot: AsyncAgentScope, web: httpx.AsyncClient) -> None:
    await bot.memories.create("one", entities=["Bob"], valid_from="2026-01-01")
    await bot.memories.create("both", entities=["Bob", "Robert"], valid_from="2026-01-02")
    await bot.memories.create("other", entities=["Robert"], valid_from="2026-01-03")
    agent = (await bot.get()).id
    await web.post("/v1/facts/merge", json={"agent_id": agent, "name": "Bob", "other": "Robert"})
    for name in ("Bob", "robert"):
        assert await texts(bot, name) == ["one", "both", "other"]
        answer = await web.get("/v1/memories/timeline", params={"agent_id": agent, "entity": name})
        assert answer.json()["entity"] == "bob"


async def test_of_a_name_that_nothing_has_it_is_empty_and_a_blank_one_is_refused(
    bot: AsyncAgentScope, client: AsyncEngram, web: httpx.AsyncClient
) -> None:
    agent = (await bot.get()).id
    for name in ("nobody", "the"):
        answer = await web.get("/v1/memories/timeline", params={"agent_id": agent, "entity": name})
        assert answer.json() == {"entity": name, "found": False, "data": [], "next_cursor": None}
    with pytest.raises(UnprocessableEntityError) as refused:
        await texts(bot, "  ")
    assert refused.value.errors[0].field == "entity"
    with pytest.raises(UnprocessableEntityError, match="order"):
        await texts(bot, "ledger", order="sideways")
    with pytest.raises(NotFoundError):
        await client.memories.timeline("01890a5d-ac96-774b-bcce-b302099a8057", "ledger")
