"""Memories by the entities that they share: `related`, the most telling first, and `backlinks`, the latest first."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.client import AsyncAgentScope, AsyncEngram


async def told(bot: AsyncAgentScope, *names: str, **fields: object) -> str:
    """A memory that names these and has a text of its own; its id."""
    count = (await bot.stats()).memories
    memory = await bot.memories.create(f"note {count}", entities=list(names), **fields)  # type: ignore[arg-type]
    return memory.id


async def found(bot: AsyncAgentScope, id: str, **asked: object) -> list[str]:
    return [memory.id for memory in (await bot.memories.related(id, **asked)).data]  # type: ignore[arg-type]


async def linked(bot: AsyncAgentScope, id: str, **asked: object) -> list[str]:
    return [memory.id async for memory in bot.memories.backlinks(id, **asked)]  # type: ignore[arg-type]


async def test_what_shares_the_most_telling_names_comes_first(bot: AsyncAgentScope) -> None:
    """Each shared entity adds 1 / sqrt(how many memories name it): a rare one tells more than a common one."""
    one = await told(bot, "billing service", "ledger", "Zyra")
    both = await told(bot, "The Billing Service's", "ledger")
    rare = await told(bot, "Zyra")
    common = await told(bot, "ledger")
    await told(bot, "something else")
    answer = await bot.memories.related(one)
    assert [memory.id for memory in answer.data] == [both, rare, common]
    scores = [1 / math.sqrt(2) + 1 / math.sqrt(3), 1 / math.sqrt(2), 1 / math.sqrt(3)]
    assert [memory.score for memory in answer.data] == pytest.approx(scores)
    assert [memory.entities for memory in answer.data] == [["billing service", "ledger"], ["Zyra"], ["ledger"]]
    assert (answer.memory_id, answer.truncated) == (one, False)


async def test_of_memories_that_tell_as_much_the_latest_comes_first_and_more_are_told_of(
    bot: AsyncAgentScope,
) -> None:
    one, *others = [await told(bot, "ledger") for _ in range(4)]
    answer = await bot.memories.related(one, limit=2)
    assert [memory.id for memory in answer.data] == others[:0:-1]
    assert answer.truncated
    assert not (await bot.memories.related(one, limit=3)).truncated


async def test_all_that_names_what_a_memory_names_is_listed_the_newest_first_page_by_page(
    bot: AsyncAgentScope,
) -> None:
    one = await told(bot, "ledger", "Zyra")
    others = [await told(bot, *names) for names in (["ledger"], ["Zyra"], ["ledger", "Zyra"], ["ledger"])]
    await told(bot, "something else")
    assert await linked(bot, one) == others[::-1]
    assert await linked(bot, one, limit=1) == others[::-1]
    page = await bot.memories.backlinks(one, limit=4)
    assert page.next_cursor is None


async def test_only_what_is_of_a_user_and_of_a_session_is_found_where_that_is_asked(bot: AsyncAgentScope) -> None:
    one = await told(bot, "ledger")
    of_user = await told(bot, "ledger", user_id="ann")
    of_session = await told(bot, "ledger", user_id="ann", session_id="s")
    for ask in (found, linked):
        assert await ask(bot, one, user_id="ann") == [of_session, of_user]
        assert await ask(bot, one, session_id="s") == [of_session]
        assert await ask(bot, one, user_id="bob") == []


async def test_what_was_superseded_deleted_or_has_ended_is_found_no_more_but_as_it_held(bot: AsyncAgentScope) -> None:
    one = await told(bot, "ledger", valid_from="2026-01-01")
    old = await bot.memories.set("place", "old", entities=["ledger"], valid_from="2026-01-01")
    known = datetime.now(UTC)
    new = await bot.memories.set("place", "new", entities=["ledger"], valid_from="2026-03-01")
    gone = await told(bot, "ledger", valid_from="2026-01-01")
    await told(bot, "ledger", valid_from="2026-01-01", valid_until="2026-02-01")
    await bot.memories.delete(gone)
    for ask in (found, linked):
        assert await ask(bot, one) == [new.id]
        assert set(await ask(bot, one, as_of="2026-02-15")) == {old.id}
        assert set(await ask(bot, one, known_at=known)) == {old.id}
    with pytest.raises(NotFoundError):
        await bot.memories.related(gone)
    with pytest.raises(NotFoundError):
        await bot.memories.backlinks(gone)


async def test_entities_that_were_merged_are_shared_as_one(bot: AsyncAgentScope, web: httpx.AsyncClient) -> None:
    one = await told(bot, "Bob")
    other = await told(bot, "Robert")
    assert await found(bot, one) == await linked(bot, one) == []
    agent = (await bot.get()).id
    merged = await web.post("/v1/facts/merge", json={"agent_id": agent, "name": "Bob", "other": "Robert"})
    assert merged.status_code == 201, merged.text
    assert await found(bot, one) == await linked(bot, one) == [other]
    (hit,) = (await bot.memories.related(other)).data
    assert (hit.id, hit.entities, hit.score) == (one, ["Bob"], pytest.approx(1 / math.sqrt(2)))
    await web.delete(f"/v1/facts/merge/{merged.json()['id']}")
    assert await found(bot, one) == []


async def test_a_memory_that_names_nothing_is_related_to_nothing(bot: AsyncAgentScope, client: AsyncEngram) -> None:
    one = await told(bot)
    await told(bot)
    assert await found(bot, one) == await linked(bot, one) == []
    stranger = await client.agents.create("stranger to related")
    there = client.agent(stranger.id)
    other = await told(there, "ledger")
    await told(bot, "ledger")
    assert await found(there, other) == []


async def test_what_is_out_of_range_is_refused_by_name(bot: AsyncAgentScope) -> None:
    one = await told(bot, "ledger")
    for limit, bound in ((0, "greater than or equal to 1"), (201, "less than or equal to 200")):
        for ask in (bot.memories.related, bot.memories.backlinks):
            with pytest.raises(UnprocessableEntityError) as refused:
                await ask(one, limit=limit)
            assert refused.value.errors[0].field == "limit"
            assert bound in refused.value.errors[0].message
