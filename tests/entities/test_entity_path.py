"""`facts.path`: the shortest way from one entity to another over what occurs together."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.client import AsyncAgentScope, AsyncEngram
from engram.entities.graph import chains

from .weaving import star, weave

CHAIN = ["hop0", "hop1", "hop2", "hop3", "hop4", "hop5"]


@pytest.fixture
async def chain(bot: AsyncAgentScope) -> AsyncAgentScope:
    await weave(bot, dict.fromkeys(pairwise(CHAIN), 2), valid_from="2026-01-01")
    return bot


async def test_a_chain_shows_each_of_its_pairs_with_its_weight_and_its_time(
    chain: AsyncAgentScope,
) -> None:
    route = await chain.facts.path("The Hop0's", "hop2")
    assert (route.source, route.target, route.found, route.truncated) == ("hop0", "hop2", True, False)
    assert route.path == ["hop0", "hop1", "hop2"]
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert [edge.model_dump(exclude={"relation", "direction", "provenance"}) for edge in route.edges] == [
        {"source": one, "target": other, "co_occur": 2, "valid_from": start, "valid_until": None}
        for one, other in (("hop0", "hop1"), ("hop1", "hop2"))
    ]


async def test_a_chain_has_as_many_pairs_as_are_allowed_three_unless_said_otherwise(chain: AsyncAgentScope) -> None:
    assert (await chain.facts.path("hop0", "hop3")).path == CHAIN[:4]
    for hops in (1, 2, 3, 4):
        for far in range(1, 6):
            route = await chain.facts.path("hop0", f"hop{far}", max_hops=hops)
            assert (route.found, route.truncated) == (far <= hops, False)
            assert route.path == (CHAIN[: far + 1] if far <= hops else [])
            assert len(route.edges) == max(0, len(route.path) - 1)
            back = await chain.facts.path(f"hop{far}", "hop0", max_hops=hops)
            assert back.path == route.path[::-1]


async def test_among_shortest_chains_the_one_with_the_most_co_occurrences_then_by_names(bot: AsyncAgentScope) -> None:
    for middle, first, second in (("mid1", 1, 3), ("mid2", 2, 3), ("mid3", 3, 2)):
        await weave(bot, {("from1", middle): first, (middle, "unto1"): second})
    assert (await bot.facts.path("from1", "unto1")).path == ["from1", "mid2", "unto1"]
    await weave(bot, {("mid1", "unto1"): 2})
    assert (await bot.facts.path("from1", "unto1")).path == ["from1", "mid1", "unto1"]
    # Strong pairs on a longer way do not count.
    await weave(bot, {("from1", "unto1"): 1, ("from1", "mid1"): 9})
    assert (await bot.facts.path("from1", "unto1")).path == ["from1", "unto1"]


async def test_from_an_entity_to_itself_there_are_no_edges(chain: AsyncAgentScope) -> None:
    route = await chain.facts.path("hop1", "HOP1")
    assert (route.found, route.path, route.edges, route.truncated) == (True, ["hop1"], [], False)


async def test_where_nothing_was_cut_short_not_found_means_that_there_is_none(chain: AsyncAgentScope) -> None:
    await weave(chain, {("apart1", "apart2"): 1})
    for target in ("apart1", "nobody"):
        route = await chain.facts.path("hop0", target, max_hops=4)
        assert (route.found, route.path, route.edges, route.truncated) == (False, [], [], False)
        assert (route.source, route.target) == ("hop0", target)


async def test_where_a_hop_was_cut_short_the_answer_says_so(
    bot: AsyncAgentScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound on what a hop looks at is lowered: fifty thousand pairs take minutes to write."""
    await weave(bot, star("from1", 6) | {("spoke5", "unto1"): 1, ("unto1", "unto2"): 1, ("unto1", "unto3"): 1})
    whole = await bot.facts.path("from1", "unto1")
    assert (whole.found, whole.truncated) == (True, False)
    monkeypatch.setattr(chains, "MAX_LINKS", 1)
    monkeypatch.setattr("engram.entities.graph.repository.MAX_LINKS", 1)
    cut = await bot.facts.path("from1", "unto1")
    assert (cut.found, cut.path, cut.truncated) == (False, [], True)


async def test_min_co_occur_and_as_of_hold_on_every_edge(bot: AsyncAgentScope) -> None:
    await weave(bot, {("from1", "mid1"): 2}, valid_from="2026-01-01", valid_until="2026-03-01")
    await weave(bot, {("mid1", "unto1"): 1}, valid_from="2026-02-01")
    assert not (await bot.facts.path("from1", "unto1")).found
    assert (await bot.facts.path("from1", "unto1", as_of="2026-02-15")).path == ["from1", "mid1", "unto1"]
    assert not (await bot.facts.path("from1", "unto1", as_of="2026-01-15")).found
    assert not (await bot.facts.path("from1", "unto1", as_of="2026-02-15", min_co_occur=2)).found


async def test_merged_names_are_one_node_of_a_chain(bot: AsyncAgentScope, web: httpx.AsyncClient) -> None:
    await weave(bot, {("from1", "bobby"): 1, ("robert", "unto1"): 1})
    assert not (await bot.facts.path("from1", "unto1")).found
    said = {"agent_id": (await bot.get()).id, "name": "bobby", "other": "robert"}
    await web.post("/v1/facts/merge", json=said)
    assert (await bot.facts.path("from1", "unto1")).path == ["from1", "bobby", "unto1"]
    assert (await bot.facts.path("bobby", "robert")).path == ["bobby"]


@pytest.mark.parametrize(
    ("field", "values", "bounds"),
    [
        ("source", [" "], ["blank"]),
        ("target", ["\t"], ["blank"]),
        ("max_hops", [0, 5], ["1", "4"]),
        ("min_co_occur", [0], ["1"]),
    ],
)
async def test_out_of_range_is_422_naming_the_bound(
    bot: AsyncAgentScope, client: AsyncEngram, field: str, values: list[Any], bounds: list[str]
) -> None:
    for value, bound in zip(values, bounds, strict=True):
        with pytest.raises(UnprocessableEntityError) as refused:
            await bot.facts.path(**{"source": "from1", "target": "unto1", field: value})
        (error,) = refused.value.errors
        assert (error.field, bound in error.message) == (field, True)
    with pytest.raises(NotFoundError):
        await client.facts.path("01890a5d-ac96-774b-bcce-b302099a8057", "from1", "unto1")
