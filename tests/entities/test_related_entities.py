"""`facts.related`: what occurs with an entity, page by page, and which end of a pair it is."""

from __future__ import annotations

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.client import AsyncAgentScope, AsyncEngram

from .weaving import weave


async def related(bot: AsyncAgentScope, entity: str, **asked: object) -> list[tuple[str, int]]:
    return [(one.name, one.co_occur) async for one in bot.facts.related(entity, **asked)]  # type: ignore[arg-type]


async def test_the_strongest_come_first_then_by_name_and_page_by_page(bot: AsyncAgentScope) -> None:
    await weave(bot, {("seed1", "bbb1"): 2, ("seed1", "ccc1"): 3, ("seed1", "aaa1"): 2, ("aaa1", "far1"): 5})
    expected = [("ccc1", 3), ("aaa1", 2), ("bbb1", 2)]
    for limit in (1, 2, 3, 200):
        assert await related(bot, "The seed1's", limit=limit) == expected
    assert await related(bot, "seed1", min_co_occur=3) == expected[:1]
    page = await bot.facts.related("seed1", limit=3)
    assert page.next_cursor is None
    assert [one.degree for one in page.data] == [3, 7, 2]


async def test_side_says_which_end_of_the_stored_pair_the_seed_is(bot: AsyncAgentScope) -> None:
    """One of two is the first, and stays so however the pair is asked for."""
    await weave(bot, {("seed1", "aaa1"): 1, ("seed1", "bbb1"): 1, ("aaa1", "bbb1"): 1})

    async def side(one: str, other: str) -> str:
        found = {each.name: each.side.value async for each in bot.facts.related(one)}
        return found[other]

    for one, other in (("seed1", "aaa1"), ("seed1", "bbb1"), ("aaa1", "bbb1")):
        assert {await side(one, other), await side(other, one)} == {"first", "second"}
        assert await side(one, other) == await side(one, other)


async def test_as_of_counts_what_held_then(bot: AsyncAgentScope) -> None:
    await weave(bot, {("seed1", "gone1"): 2}, valid_from="2026-01-01", valid_until="2026-02-01")
    await weave(bot, {("seed1", "here1"): 1}, valid_from="2026-01-15")
    assert await related(bot, "seed1") == [("here1", 1)]
    assert await related(bot, "seed1", as_of="2026-01-20") == [("gone1", 2), ("here1", 1)]


async def test_merged_names_are_one_entity(bot: AsyncAgentScope, web: httpx.AsyncClient) -> None:
    await weave(bot, {("bobby", "ledger"): 1, ("robert", "ledger"): 2, ("robert", "bobby"): 1})
    said = {"agent_id": (await bot.get()).id, "name": "robert", "other": "bobby"}
    await web.post("/v1/facts/merge", json=said)
    assert await related(bot, "ledger") == [("robert", 3)]
    # With itself an entity does not occur.
    assert await related(bot, "bobby") == [("ledger", 3)]


async def test_of_a_name_that_nothing_has_it_is_empty_and_what_is_wrong_is_refused(
    bot: AsyncAgentScope, client: AsyncEngram, web: httpx.AsyncClient
) -> None:
    agent = (await bot.get()).id
    answer = await web.get("/v1/facts/related", params={"agent_id": agent, "entity": "nobody"})
    assert answer.json() == {"entity": "nobody", "found": False, "data": [], "next_cursor": None}
    for field, value in (("entity", " "), ("limit", 0), ("limit", 201), ("min_co_occur", 0), ("cursor", "x")):
        with pytest.raises(UnprocessableEntityError) as refused:
            await related(bot, **{"entity": "seed1", field: value})  # type: ignore[arg-type]
        assert refused.value.errors[0].field == field
    with pytest.raises(NotFoundError):
        await client.facts.related("01890a5d-ac96-774b-bcce-b302099a8057", "seed1")
