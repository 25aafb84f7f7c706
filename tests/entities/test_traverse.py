"""`facts.traverse`: the neighbourhood of an entity, hop by hop. What a walk may cost is tested elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.client import AsyncAgentScope, AsyncEngram
from engram.entities.graph.schemas import TraverseRequest
from engram.services import Services, assemble
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space

from .weaving import names, node, star, weave

ALL = {"hub_share": 0.0, "rank_by": "co_occur"}
"""Without hubs, and the most frequent first: what counts is plain."""


async def test_what_a_memory_names_together_is_joined_once_for_each_memory(bot: AsyncAgentScope) -> None:
    await weave(bot, {("ledger", "billing"): 2, ("ledger", "billing", "audit"): 1, ("alone",): 1})
    walk = await bot.facts.traverse("ledger")
    assert [(one.name, one.via_co_occur, one.degree) for one in walk.nodes] == [("billing", 3, 4), ("audit", 1, 2)]
    assert (await bot.facts.traverse("alone")).nodes == []


async def test_of_a_memory_a_hundred_pairs_are_joined_at_the_most(bot: AsyncAgentScope) -> None:
    await weave(bot, {tuple(f"name{number}" for number in range(20)): 1})
    degrees = [entity.degree for entity in (await bot.taxonomy(limit=200)).entities]
    assert sum(degrees) == 2 * 100


async def test_the_billing_services_and_billing_service_are_one_node(bot: AsyncAgentScope) -> None:
    await weave(bot, {("The Billing Service's", "ledger"): 1, ("billing services", "audit"): 1})
    for spelling in ("The Billing Services'", "billing service", " BILLING  SERVICE "):
        walk = await bot.facts.traverse(spelling)
        assert (walk.seed, walk.found, sorted(names(walk))) == ("billing service", True, ["audit", "ledger"])
    assert (await bot.facts.traverse("audit")).nodes[0].display_name == "The Billing Service's"


async def test_an_identifier_is_one_node_however_it_is_quoted_and_never_made_singular(bot: AsyncAgentScope) -> None:
    await weave(bot, {("error:Timeouts", "ledger"): 1, ("`ERROR:timeouts`", "audit"): 1, ("commit:9F3A", "release"): 1})
    for spelling in ("Error:Timeouts", '"error:timeouts"'):
        walk = await bot.facts.traverse(spelling)
        assert (walk.seed, sorted(names(walk))) == ("error:timeouts", ["audit", "ledger"])
    # Where something stands between, it is a sentence.
    for prose in ("Error: timeouts", "error:`Timeouts`", "error:timeout"):
        assert not (await bot.facts.traverse(prose)).found
    assert names(await bot.facts.traverse("commit:9f3a")) == ["release"]


async def test_who_speaks_is_the_user(bot: AsyncAgentScope) -> None:
    await weave(bot, {("I", "ledger"): 1, ("myself", "audit"): 1})
    for spelling in ("me", "We", "user", "the user's"):
        walk = await bot.facts.traverse(spelling)
        assert (walk.seed, sorted(names(walk))) == ("user", ["audit", "ledger"])


async def test_what_names_nothing_is_no_node(bot: AsyncAgentScope) -> None:
    """Pronouns, interjections, verbs that say little, tokens of two characters, and what is too long, before it is
    brought into its form or after."""
    nothing = ["they", "oh", "make", "ab", "x" * 257, "\ufb01" * 200]
    made = await bot.memories.create("one", entities=["ledger", *nothing, "billing"])
    assert sorted(entity.name for entity in (await bot.memories.get(made.id)).entities) == ["billing", "ledger"]
    assert names(await bot.facts.traverse("ledger")) == ["billing"]
    for name in nothing:
        assert not (await bot.facts.traverse(name)).found


async def test_what_is_reached_twice_is_shown_once_where_it_is_nearest_and_below_its_strongest_neighbour(
    bot: AsyncAgentScope,
) -> None:
    """As a tree; of equal neighbours below the one that comes first."""
    edges = {("seed1", "left1"): 3, ("seed1", "right1"): 2, ("left1", "right1"): 5}
    await weave(
        bot, edges | {("left1", "leaf1"): 1, ("right1", "leaf1"): 2, ("left1", "tie1"): 1, ("right1", "tie1"): 1}
    )
    walk = await bot.facts.traverse("seed1", **ALL)
    assert [(one.name, one.hop, one.via_co_occur, one.cumulative_weight, one.path) for one in walk.nodes] == [
        ("left1", 1, 3, 3, ["seed1", "left1"]),
        ("right1", 1, 2, 2, ["seed1", "right1"]),
        ("leaf1", 2, 2, 4, ["seed1", "right1", "leaf1"]),
        ("tie1", 2, 1, 4, ["seed1", "left1", "tie1"]),
    ]


async def test_a_walk_goes_as_far_as_it_is_told_two_hops_unless_said_otherwise(bot: AsyncAgentScope) -> None:
    chain = ["hop0", "hop1", "hop2", "hop3", "hop4", "hop5"]
    await weave(bot, dict.fromkeys(pairwise(chain), 1))
    assert names(await bot.facts.traverse("hop0")) == chain[1:3]
    for hops in (1, 2, 3, 4):
        assert names(await bot.facts.traverse("hop0", max_hops=hops)) == chain[1 : hops + 1]


async def test_of_each_node_the_strongest_pairs_are_followed_twenty_unless_said_otherwise(bot: AsyncAgentScope) -> None:
    """Before the next hop begins, so that none is more than so many times as wide as the one before."""
    await weave(bot, star("seed1", 22) | {("seed1", "spoke21"): 2, ("spoke21", "leaf1"): 1, ("spoke20", "leaf2"): 1})
    walk = await bot.facts.traverse("seed1", **ALL)
    first = [one.name for one in walk.nodes if one.hop == 1]
    assert first == ["spoke21", *sorted(f"spoke{number}" for number in range(21))[:19]]
    two = await bot.facts.traverse("seed1", top_k_per_hop=1, **ALL)
    assert names(two) == ["spoke21", "leaf1"]
    assert not two.truncated
    assert len((await bot.facts.traverse("seed1", top_k_per_hop=100, **ALL)).nodes) == 24


async def test_pairs_that_too_few_memories_name_are_not_walked(bot: AsyncAgentScope) -> None:
    await weave(bot, {("seed1", "often1"): 3, ("seed1", "rare1"): 1, ("often1", "far1"): 2})
    assert names(await bot.facts.traverse("seed1", **ALL)) == ["often1", "rare1", "far1"]
    assert names(await bot.facts.traverse("seed1", min_co_occur=2, **ALL)) == ["often1", "far1"]
    # Before the trim: what is below it takes no place.
    assert names(await bot.facts.traverse("seed1", min_co_occur=3, top_k_per_hop=1, **ALL)) == ["often1"]


async def test_no_more_nodes_come_than_are_allowed_and_the_answer_says_so(bot: AsyncAgentScope) -> None:
    await weave(bot, star("seed1", 3) | {("spoke0", "leaf1"): 1})
    for most in (1, 2, 3):
        walk = await bot.facts.traverse("seed1", max_nodes=most, **ALL)
        assert (names(walk), walk.truncated) == ([f"spoke{number}" for number in range(most)], True)
    whole = await bot.facts.traverse("seed1", max_nodes=4, **ALL)
    assert (len(whole.nodes), whole.truncated) == (4, False)


async def test_four_hundred_nodes_come_where_no_bound_is_given(bot: AsyncAgentScope) -> None:
    spokes = [f"spoke{number:02}" for number in range(20)]
    groups = [("seed1", spoke) for spoke in spokes]
    groups += [
        (spoke, *(f"{spoke} leaf{at}" for at in part)) for spoke in spokes for part in (range(14), range(14, 20))
    ]
    await weave(bot, dict.fromkeys(groups, 1))
    walk = await bot.facts.traverse("seed1", **ALL)
    assert (len(walk.nodes), walk.truncated) == (400, True)
    assert len((await bot.facts.traverse("seed1", max_nodes=5000, **ALL)).nodes) == 420


async def test_a_deployment_sets_what_is_a_hub_and_how_hops_are_trimmed(space: Space) -> None:
    services = space.services
    changes = {"traverse_hub_share": 0.5, "traverse_rank_by": "co_occur"}
    other = await assemble(services.settings.model_copy(update=changes), services.database, services.embedder)
    pairs = [*[("seed1", "user")] * 2, ("seed1", "rare1"), *(("user", f"spoke{number}") for number in range(3))]
    await space.remember_all({"content": f"{at}", "entities": list(pair)} for at, pair in enumerate(pairs))

    async def walked(services: Services, **fields: Any) -> tuple[list[str], list[str]]:
        request = TraverseRequest(agent_id=space.agent_id, seed_entity="seed1", max_hops=1, **fields)
        walk = await services.entity_graph.traverse(DEFAULT_SCOPE, request)
        return names(walk), walk.hubs

    assert await walked(services) == (["rare1", "user"], [])
    assert await walked(other) == (["user", "rare1"], ["user"])
    # What a request says goes before it.
    assert await walked(other, hub_share=0, rank_by="cosine") == (["rare1", "user"], [])


class TestHubs:
    async def test_a_hub_is_shown_and_named_and_the_walk_ends_there(self, bot: AsyncAgentScope) -> None:
        """By its degree; and it takes a place among the nodes."""
        await weave(bot, {("seed1", "user"): 1, ("seed1", "quiet1"): 1, ("quiet1", "leaf1"): 1} | star("user", 4))
        walk = await bot.facts.traverse("seed1", hub_degree=5, **ALL)
        assert (walk.hubs, sorted(names(walk))) == (["user"], ["leaf1", "quiet1", "user"])
        assert (node(walk, "user").hub, node(walk, "user").degree, node(walk, "quiet1").hub) == (True, 5, False)
        plain = await bot.facts.traverse("seed1", hub_degree=6, **ALL)
        assert (plain.hubs, len(plain.nodes)) == ([], 7)
        assert (await bot.facts.traverse("seed1", hub_degree=5, max_nodes=2, **ALL)).truncated

    async def test_a_walk_begins_from_a_hub_as_from_anything_else(self, bot: AsyncAgentScope) -> None:
        await weave(bot, star("user", 5))
        walk = await bot.facts.traverse("user", hub_degree=1, hub_share=1.0)
        assert len(walk.nodes) == 5
        assert sorted(walk.hubs) == sorted(names(walk))

    async def test_what_was_reached_by_a_small_part_of_its_degree_is_a_hub(self, bot: AsyncAgentScope) -> None:
        await weave(bot, {("seed1", "user"): 1, ("seed2", "user"): 2} | star("user", 7))
        for seed, share, expected in (("seed1", 0.1, True), ("seed1", 0.09, False), ("seed2", 0.1, False)):
            walk = await bot.facts.traverse(seed, hub_share=share)
            assert node(walk, "user").hub is expected, (seed, share)
            assert (walk.hubs == ["user"]) is expected

    async def test_hub_share_is_a_hundredth_by_default_and_0_switches_it_off(self, bot: AsyncAgentScope) -> None:
        await weave(bot, {("seed1", "user"): 1} | star("user", 99))
        walk = await bot.facts.traverse("seed1")
        assert (walk.hubs, names(walk)) == (["user"], ["user"])
        # Kept are the twenty of a hop.
        off = await bot.facts.traverse("seed1", hub_share=0)
        assert (off.hubs, len(off.nodes)) == ([], 21)


class TestRankBy:
    """The trim of each hop. `user` occurs twice with the seed, and with much else; `rare1` once, and with nothing."""

    @pytest.fixture
    async def woven(self, bot: AsyncAgentScope) -> AsyncAgentScope:
        edges = {("seed1", "user"): 4, ("seed1", "middle1"): 3, ("middle1", "other1"): 6, ("seed1", "rare1"): 1}
        await weave(bot, edges | star("user", 60))
        return bot

    @pytest.mark.parametrize(
        ("rank_by", "expected"),
        [
            ("co_occur", {"user": 4.0, "middle1": 3.0, "rare1": 1.0}),
            ("specificity", {"rare1": 1.0, "middle1": 3 / 9, "user": 4 / 64}),
            ("cosine", {"middle1": 3 / 9**0.5, "rare1": 1.0, "user": 4 / 64**0.5}),
        ],
    )
    async def test_each_hop_keeps_the_best_by_number_by_rarity_or_by_both(
        self, woven: AsyncAgentScope, rank_by: str, expected: dict[str, float]
    ) -> None:
        walk = await woven.facts.traverse("seed1", max_hops=1, rank_by=rank_by, hub_share=0)
        assert [(one.name, one.score) for one in walk.nodes] == [
            (name, pytest.approx(score)) for name, score in expected.items()
        ]
        best = await woven.facts.traverse("seed1", max_hops=1, rank_by=rank_by, hub_share=0, top_k_per_hop=1)
        assert names(best) == list(expected)[:1]

    async def test_cosine_is_the_default(self, woven: AsyncAgentScope) -> None:
        plain = await woven.facts.traverse("seed1", max_hops=1)
        assert plain.nodes == (await woven.facts.traverse("seed1", max_hops=1, rank_by="cosine")).nodes


class TestTime:
    """What held at a moment."""

    async def test_at_a_moment_only_what_held_then_is_counted(self, bot: AsyncAgentScope) -> None:
        await weave(bot, {("seed1", "early1"): 2}, valid_from="2026-01-01", valid_until="2026-03-01")
        await weave(bot, {("seed1", "early1"): 1, ("seed1", "late1"): 1}, valid_from="2026-02-01")

        async def counts(moment: str) -> dict[str, int]:
            walk = await bot.facts.traverse("seed1", as_of=moment)
            return {one.name: one.via_co_occur for one in walk.nodes}

        assert await counts("2025-12-31") == {}
        assert await counts("2026-01-15") == {"early1": 2}
        assert await counts("2026-02-15") == {"early1": 3, "late1": 1}
        assert await counts("2026-03-01") == {"early1": 1, "late1": 1}

    async def test_as_of_now_answers_what_no_as_of_does(self, bot: AsyncAgentScope) -> None:
        now = datetime.now(UTC)
        await weave(bot, {("seed1", "one1"): 2, ("one1", "two1"): 1}, valid_from="2026-01-01")
        await weave(bot, {("seed1", "gone1"): 1}, valid_from="2026-01-01", valid_until="2026-02-01")
        await weave(bot, {("seed1", "ending1"): 1}, valid_until=(now + timedelta(days=1)).isoformat())
        await weave(bot, {("seed1", "coming1"): 1}, valid_from="2999-01-01")
        await bot.memories.set("slot", "first", entities=["seed1", "first1"], valid_from="2026-01-01")
        await bot.memories.set("slot", "second", entities=["seed1", "second1"])
        plain = await bot.facts.traverse("seed1", **ALL)
        timed = await bot.facts.traverse("seed1", as_of=datetime.now(UTC), **ALL)
        assert sorted(names(plain)) == ["ending1", "one1", "second1", "two1"]
        told = {"name", "hop", "via_co_occur", "cumulative_weight", "path", "valid_from", "valid_until"}
        assert [one.model_dump(include=told) for one in plain.nodes] == [
            one.model_dump(include=told) for one in timed.nodes
        ]

    async def test_a_node_reports_when_the_first_memory_began_and_the_last_ends(self, bot: AsyncAgentScope) -> None:
        await weave(
            bot, {("seed1", "open1"): 1, ("seed1", "shut1"): 1}, valid_from="2026-01-01", valid_until="2999-01-01"
        )
        await weave(bot, {("seed1", "open1"): 1}, valid_from="2026-02-01")
        await weave(bot, {("seed1", "shut1"): 1}, valid_from="2026-02-01", valid_until="2999-02-01")
        walk = await bot.facts.traverse("seed1")
        start = datetime(2026, 1, 1, tzinfo=UTC)
        assert (node(walk, "open1").valid_from, node(walk, "open1").valid_until) == (start, None)
        assert (node(walk, "shut1").valid_from, node(walk, "shut1").valid_until) == (
            start,
            datetime(2999, 2, 1, tzinfo=UTC),
        )

    async def test_supersession_and_deletion_take_observations_away_and_an_undo_brings_them_back(
        self, bot: AsyncAgentScope
    ) -> None:
        first = await bot.memories.set("slot", "first", entities=["seed1", "first1"], valid_from="2026-01-01")
        assert names(await bot.facts.traverse("seed1")) == ["first1"]
        await bot.memories.set("slot", "second", entities=["seed1", "second1"], valid_from="2026-02-01")
        assert names(await bot.facts.traverse("seed1")) == ["second1"]
        assert names(await bot.facts.traverse("seed1", as_of="2026-01-15")) == ["first1"]
        await bot.memories.restore(first.id)
        assert names(await bot.facts.traverse("seed1")) == ["first1"]
        await bot.memories.delete(first.id)
        assert names(await bot.facts.traverse("seed1")) == []
        # Of what was purged nothing is left, at no moment.
        await bot.memories.purge(first.id)
        assert not (await bot.facts.traverse("first1", as_of="2026-01-15")).found
        assert names(await bot.facts.traverse("seed1", as_of="2026-01-15")) == []


async def test_merged_names_are_one_node_until_that_is_taken_back(bot: AsyncAgentScope, web: httpx.AsyncClient) -> None:
    await weave(bot, {("bobby", "ledger"): 1, ("robert", "ledger"): 2, ("robert", "audit"): 1})
    apart = await bot.facts.traverse("ledger", **ALL)
    assert names(apart) == ["robert", "bobby", "audit"]
    said = {"agent_id": (await bot.get()).id, "name": "Bobby", "other": "robert"}
    merge = await web.post("/v1/facts/merge", json=said)
    walk = await bot.facts.traverse("ledger", **ALL)
    assert [(one.name, one.via_co_occur, one.degree) for one in walk.nodes] == [("bobby", 3, 4), ("audit", 1, 1)]
    assert (await bot.facts.traverse("Robert", **ALL)).seed == "bobby"
    assert names(await bot.facts.traverse("robert", **ALL)) == ["ledger", "audit"]
    await web.delete(f"/v1/facts/merge/{merge.json()['id']}")
    assert names(await bot.facts.traverse("ledger", **ALL)) == names(apart)


async def test_an_unknown_entity_gives_an_empty_answer_and_an_unknown_agent_is_not_found(
    bot: AsyncAgentScope, client: AsyncEngram
) -> None:
    for name in ("nobody", "the", "me too"):
        walk = await bot.facts.traverse(name)
        assert walk.model_dump() == {"seed": name, "found": False, "nodes": [], "hubs": [], "truncated": False}
    with pytest.raises(NotFoundError):
        await client.facts.traverse("01890a5d-ac96-774b-bcce-b302099a8057", "ledger")


@pytest.mark.parametrize(
    ("field", "values", "bound"),
    [
        ("seed_entity", ["", "   ", "\u200b"], ""),
        ("max_hops", [0, 5], "1|4"),
        ("top_k_per_hop", [0, 101], "1|100"),
        ("min_co_occur", [0], "1"),
        ("max_nodes", [0, 5001], "1|5000"),
        ("hub_degree", [-1], "0"),
        ("hub_share", [-0.1, 1.1], "0|1"),
        ("rank_by", ["weight"], "co_occur"),
        ("as_of", ["yesterday"], "ISO 8601"),
    ],
)
async def test_out_of_range_is_422_naming_the_bound(
    bot: AsyncAgentScope, field: str, values: list[Any], bound: str
) -> None:
    for value, expected in zip(values, bound.split("|") if "|" in bound else [bound] * len(values), strict=True):
        with pytest.raises(UnprocessableEntityError) as refused:
            await bot.facts.traverse(**{"seed_entity": "ledger", field: value})
        (error,) = refused.value.errors
        assert error.field == field
        assert expected in error.message
