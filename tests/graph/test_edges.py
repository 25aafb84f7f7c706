"""Edges that clients assert, and the edges of a memory as the graph shows them."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from engram.graph.schemas import Edge, EdgeCreate, RelationType
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.services import Services
from engram.tenants.scope import Scope
from tests.fixtures.spaces import Space, ids, new_space

MULTIPLIERS = {
    "entity_link": 0.98,
    "causal": 0.97,
    "temporal": 0.97,
    "thematic": 0.95,
    "contradicts": 0.95,
    "supports": 0.96,
    "derived_from": 0.96,
    "supersedes": 0.94,
}
UNDIRECTED = {"thematic", "contradicts", "entity_link"}
NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def strangers(space: Space, number: int) -> list[str]:
    """Memories that nothing links."""
    return ids(
        await space.remember_all(
            {"content": f"memory {place}", "embedding": space.vector(*[0.0] * place, 1.0)} for place in range(number)
        )
    )


def seen(edge: Edge) -> tuple[str, str, str, float]:
    return edge.target_memory_id, edge.relation_type.value, edge.direction.value, edge.weight


@pytest.mark.parametrize("relation", MULTIPLIERS)
async def test_every_relation_can_be_made_seen_and_deleted(space: Space, relation: str) -> None:
    one, other = await strangers(space, 2)
    out, back = ("both", "both") if relation in UNDIRECTED else ("out", "in")
    made = await space.link(one, other, relation, weight=0.7, reason="because", label="of_my_own")
    assert seen(made) == (other, relation, out, 0.7)
    (edge,) = await space.edges(one)
    assert edge == made
    assert (edge.decay_multiplier, edge.origin) == (MULTIPLIERS[relation], "asserted")
    assert (edge.reason, edge.label, edge.source_memory_id) == ("because", "of_my_own", one)
    (edge,) = await space.edges(other)
    assert seen(edge) == (one, relation, back, 0.7)

    await space.unlink(one, other, relation)
    assert await space.edges(one) == await space.edges(other) == []
    with pytest.raises(NotFoundProblem):
        await space.unlink(one, other, relation)
    await space.link(one, other, relation, weight=0.2)
    assert [seen(edge) for edge in await space.edges(one)] == [(other, relation, out, 0.2)]


@pytest.mark.parametrize("relation", sorted(UNDIRECTED))
async def test_a_relation_without_direction_is_one_edge_from_either_end(space: Space, relation: str) -> None:
    one, other = await strangers(space, 2)
    await space.link(one, other, relation, weight=0.3)
    assert (await space.link(other, one, relation, weight=0.4)).target_memory_id == one
    assert [seen(edge) for edge in await space.edges(one)] == [(other, relation, "both", 0.4)]
    assert (await space.stats()).edges == 1
    await space.unlink(one, other, relation)
    assert await space.edges(other) == []


async def test_a_relation_with_direction_may_run_both_ways(space: Space) -> None:
    one, other = await strangers(space, 2)
    await space.link(one, other, "causal", weight=0.3)
    await space.link(other, one, "causal", weight=0.4)
    assert [seen(edge) for edge in await space.edges(one)] == [
        (other, "causal", "in", 0.4),
        (other, "causal", "out", 0.3),
    ]


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.8), (0.8, 0.3), (0.5, 0.5)])
async def test_writing_an_edge_again_keeps_the_greater_weight(space: Space, first: float, second: float) -> None:
    one, other = await strangers(space, 2)
    await space.link(one, other, "causal", weight=first, label="first", reason="first")
    again = await space.link(one, other, "causal", weight=second, reason="second")
    (edge,) = await space.edges(one)
    assert edge == again
    assert (edge.weight, edge.label, edge.reason) == (max(first, second), "first", "second")


async def test_edges_that_were_found_and_edges_that_are_asserted_are_one_where_they_meet(space: Space) -> None:
    one, other = ids(
        await space.remember_all(
            {"content": text, "embedding": space.vector(1)}
            for text in ("one memory of the pair here", "the other memory of the pair")
        )
    )
    asserted = await space.link(one, other, "thematic", weight=0.1)
    assert (asserted.weight, asserted.origin) == (1.0, "asserted")
    assert len(await space.edges(one)) == 1


async def test_only_what_is_asked_for_is_shown(space: Space) -> None:
    one, *others = await strangers(space, 6)
    await space.link(one, others[0], "causal", weight=0.9)
    await space.link(others[1], one, "causal", weight=0.8)
    await space.link(one, others[2], "contradicts", weight=0.7)
    await space.link(others[3], one, "supports", weight=0.6)
    await space.link(one, others[4], "supersedes", weight=0.5)

    async def shown(*relations: str, **asked: Any) -> list[int]:
        return [others.index(edge.target_memory_id) for edge in await space.edges(one, *relations, **asked)]

    assert await shown() == [0, 1, 2, 3, 4]
    assert await shown(direction="out") == [0, 2, 4]
    assert await shown(direction="in") == [1, 2, 3]
    assert await shown("causal") == [0, 1]
    assert await shown("causal", "supports", direction="in") == [1, 3]
    assert await shown(min_weight=0.7) == [0, 1, 2]
    assert await shown("supersedes", min_weight=0.6) == []


async def test_edges_hold_from_their_beginning_and_until_before_their_end(space: Space) -> None:
    one, other = ids(
        await space.remember_all(
            {"content": text, "valid_from": NOON - 9 * HOUR, "embedding": space.vector(*[0] * place, 1)}
            for place, text in enumerate(("one memory of the pair here", "the other memory of the pair"))
        )
    )
    await space.link(one, other, "causal", valid_from=NOON, valid_until=NOON + HOUR)

    async def holds(as_of: datetime | None) -> bool:
        return bool(await space.edges(one, as_of=as_of))

    assert not await holds(NOON - timedelta(microseconds=1))
    assert await holds(NOON)
    assert await holds(NOON + HOUR - timedelta(microseconds=1))
    assert not await holds(NOON + HOUR)
    assert not await holds(None)


async def test_an_edge_to_what_does_not_hold_is_not_shown(space: Space) -> None:
    one, other, ended = ids(
        await space.remember_all(
            {
                "content": f"memory {place}",
                "embedding": space.vector(*[0] * place, 1),
                "valid_from": NOON,
                "valid_until": NOON + HOUR if place == 2 else None,
            }
            for place in range(3)
        )
    )
    await space.link(one, other, "causal")
    await space.link(one, ended, "causal")
    assert [edge.target_memory_id for edge in await space.edges(one)] == [other]
    assert len(await space.edges(one, as_of=NOON)) == 2
    await space.forget(other)
    assert await space.edges(one) == []


async def test_an_edge_is_counted_while_both_of_its_ends_are_there(space: Space) -> None:
    one, two, three = await strangers(space, 3)
    await space.link(one, two, "causal")
    await space.link(three, two, "causal")
    assert (await space.stats()).edges == 2
    await space.forget(one)
    assert (await space.stats()).edges == 1
    await space.unlink(three, two, "causal")
    assert (await space.stats()).edges == 0


@pytest.mark.parametrize("page", [1, 2, 3, 7, 200])
async def test_pages_show_every_edge_once_strongest_first(space: Space, page: int) -> None:
    one, *others = await strangers(space, 12)
    chance = random.Random(page)
    for other in others:
        for relation in chance.sample(sorted(MULTIPLIERS), 2):
            ends = (one, other) if chance.random() < 0.5 else (other, one)
            # Few weights, so that many are equal.
            await space.link(*ends, relation, weight=chance.choice([0.25, 0.5, 1 / 3]))
    everything = await space.edges(one)
    assert len(everything) == 22
    assert [edge.weight for edge in everything] == sorted((edge.weight for edge in everything), reverse=True)
    assert await space.edges(one, page=page) == everything
    strong = [edge for edge in everything if edge.weight >= 1 / 3]
    assert await space.edges(one, page=page, min_weight=1 / 3) == strong


async def test_computed_and_stored_edges_share_one_list(space: Space) -> None:
    written = ids(
        await space.remember_all(
            {
                "content": f"this is turn number {place} of it",
                "session_id": "s",
                "entities": ["Zyra"],
                "embedding": space.vector(1, place / 10),
            }
            for place in range(3)
        )
    )
    middle = await space.edges(written[1])
    assert [edge.relation_type.value for edge in middle] == [
        *["thematic"] * 2,
        *["temporal"] * 2,
        *["entity_link"] * 2,
    ]
    assert await space.edges(written[1], page=1) == middle


async def test_both_ends_belong_to_one_agent(shared_services: Services, space: Space) -> None:
    other = await new_space(shared_services)
    (here,), (there,) = await strangers(space, 1), await strangers(other, 1)
    with pytest.raises(InvalidInputProblem, match="another agent"):
        await space.link(here, there, "causal")
    with pytest.raises(InvalidInputProblem, match="another agent"):
        await space.unlink(here, there, "causal")
    assert await space.edges(here) == await other.edges(there) == []


async def test_what_is_not_there_is_not_found(space: Space) -> None:
    one, gone = await strangers(space, 2)
    await space.forget(gone)
    for missing in (gone, str(uuid4())):
        for ends in ((one, missing), (missing, one)):
            with pytest.raises(NotFoundProblem, match=missing):
                await space.link(*ends, "causal")
            with pytest.raises(NotFoundProblem, match=missing):
                await space.unlink(*ends, "causal")
        with pytest.raises(NotFoundProblem, match=missing):
            await space.edges(missing)


async def test_another_tenant_sees_no_memory(space: Space) -> None:
    one, other = await strangers(space, 2)
    await space.link(one, other, "causal")
    stranger = Scope(uuid4())
    graph = space.services.graph
    everything: dict[str, Any] = {"relation_types": None, "min_weight": 0.0, "as_of": None, "limit": 9, "cursor": None}
    with pytest.raises(NotFoundProblem):
        await graph.get_edges(stranger, one, direction="both", **everything)  # type: ignore[arg-type]
    with pytest.raises(NotFoundProblem):
        await graph.delete_edge(stranger, one, other, RelationType.causal)
    with pytest.raises(NotFoundProblem):
        await graph.create_edge(stranger, EdgeCreate(source_id=one, target_id=other, relation_type="supports"))
    assert len(await space.edges(one)) == 1


@pytest.mark.parametrize("computed", ["temporal", "entity_link"])
async def test_a_computed_link_cannot_be_deleted_and_the_answer_says_why(space: Space, computed: str) -> None:
    one, other = ids(
        await space.remember_all(
            {"content": text, "session_id": "s", "entities": ["Zyra"]} for text in ("apple", "bridge")
        )
    )
    with pytest.raises(NotFoundProblem, match="computed"):
        await space.unlink(one, other, computed)


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": 0},
        {"weight": -0.1},
        {"weight": 1.0001},
        {"weight": float("nan")},
        {"weight": float("inf")},
        {"relation_type": "likes"},
        {"label": "  "},
        {"reason": "a\x00b"},
        {"valid_from": NOON, "valid_until": NOON},
        {"valid_from": NOON, "valid_until": NOON - HOUR},
        {"source_id": "not-a-uuid"},
    ],
)
def test_an_edge_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    right = {"source_id": str(uuid4()), "target_id": str(uuid4()), "relation_type": "causal"}
    EdgeCreate(**right)
    with pytest.raises(ValidationError):
        EdgeCreate(**{**right, **wrong})


def test_a_memory_is_not_linked_to_itself() -> None:
    id = str(uuid4())
    with pytest.raises(ValidationError, match="must differ"):
        EdgeCreate(source_id=id, target_id=id.upper(), relation_type="causal")


async def test_edge_sets_that_overlap_in_opposite_order_do_not_deadlock(space: Space) -> None:
    memories = await strangers(space, 5)
    pairs = [(one, other) for one in memories for other in memories if one != other]

    async def write(order: list[tuple[str, str]], weight: float) -> None:
        for one, other in order:
            await space.link(one, other, "contradicts", weight=weight)
            await space.link(one, other, "causal", weight=weight)

    for round in range(5):
        weight = (round + 1) / 10
        await asyncio.gather(write(pairs, weight), write(pairs[::-1], weight / 2))
    for memory in memories:
        edges = await space.edges(memory)
        assert len(edges) == 4 * 3
        assert {edge.weight for edge in edges} == {0.5}


async def test_batches_that_link_the_same_memories_at_once_do_not_deadlock(space: Space) -> None:
    """All are near each other, so every batch writes edges to the same memories."""
    chance = random.Random(1)
    await space.remember_all(
        {"content": f"old {number}", "embedding": space.vector(1, chance.random() / 10)} for number in range(20)
    )

    def batch(number: int) -> list[dict[str, Any]]:
        return [
            {"content": f"{number} {place}", "embedding": space.vector(1, chance.random() / 10), "entities": ["Zyra"]}
            for place in range(16)
        ]

    for start in range(0, 40, 4):
        answers = await asyncio.gather(*(space.remember_all(batch(number)) for number in range(start, start + 4)))
        assert all(answer.linked for answer in answers)
    assert (await space.stats()).pending_links == 0
