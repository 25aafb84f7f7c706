"""Links between memories about the same thing: the nearest by embedding, above the model's threshold."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from engram.memories import vectors as vector_search
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened

THRESHOLD = 0.5
DIMENSION = 12
HANDFUL = 5


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    """Services whose model says that a cosine above 0.5 means the same theme."""
    async with opened(settings, HashEmbedder(DIMENSION, threshold=THRESHOLD)) as services:
        yield services


@pytest.fixture
async def space(services: Services) -> Space:
    return await new_space(services)


def at_angle(space: Space, cosine: float) -> list[float]:
    """A vector of this cosine with ``space.vector(1)``."""
    return space.vector(cosine, math.sqrt(1 - cosine**2))


def clusters(number: int, of: int) -> list[dict[str, object]]:
    """Memories in groups of ``of`` that are near each other and far from all others, in no order."""
    chance = random.Random(number * of)
    items: list[dict[str, object]] = []
    for cluster in range(number):
        for member in range(of):
            vector = [chance.uniform(-0.2, 0.2) for _ in range(DIMENSION)]
            vector[cluster] += 1
            items.append({"content": f"cluster {cluster}, member {member}", "embedding": vector})
    chance.shuffle(items)
    return items


async def graph(space: Space) -> dict[frozenset[str], float]:
    """All thematic links by the contents at their ends; each must look the same from both."""
    texts = {hit.id: hit.content for hit in (await space.ask(top_k=200)).results}
    seen: dict[frozenset[str], list[float]] = {}
    for id, text in texts.items():
        for edge in await space.edges(id, "thematic"):
            assert (edge.direction, edge.origin, edge.decay_multiplier) == ("both", "thematic", 0.95)
            seen.setdefault(frozenset({text, texts[edge.target_memory_id]}), []).append(edge.weight)
    assert all(len(weights) == 2 and weights[0] == weights[1] for weights in seen.values())
    return {ends: weights[0] for ends, weights in seen.items()}


@pytest.mark.parametrize("cosine", [0.55, 0.75, 0.99])
async def test_the_weight_is_how_far_the_cosine_lies_above_the_threshold(space: Space, cosine: float) -> None:
    one = (await space.remember("one", embedding=space.vector(1))).id
    other = (await space.remember("other", embedding=at_angle(space, cosine))).id
    weight = pytest.approx((cosine - THRESHOLD) / (1 - THRESHOLD), abs=1e-6)
    assert await space.neighbours(one, "thematic") == {other: weight}
    assert await space.neighbours(other, "thematic") == {one: weight}


@pytest.mark.parametrize("cosine", [-1.0, 0.0, 0.45, 0.499])
async def test_below_the_threshold_there_is_no_link(space: Space, cosine: float) -> None:
    one = (await space.remember("one", embedding=space.vector(1))).id
    await space.remember("other", embedding=at_angle(space, cosine))
    assert await space.neighbours(one, "thematic") == {}


async def test_a_link_at_the_threshold_would_carry_nothing(space: Space) -> None:
    one = (await space.remember("one", embedding=space.vector(1, 1, 1, 1))).id
    # The cosine of these two is exactly a half, in any precision.
    other = await space.remember("other", embedding=space.vector(1, 1, 1, -1))
    assert other.linked
    assert await space.neighbours(one, "thematic") == {}


async def test_a_zero_vector_is_about_nothing(space: Space) -> None:
    one, two = ids(
        await space.remember_all({"content": text, "embedding": space.vector()} for text in ("nothing", "nothing more"))
    )
    assert await space.neighbours(one, "thematic") == await space.neighbours(two, "thematic") == {}


async def test_a_new_memory_is_linked_to_a_handful_of_the_nearest(space: Space) -> None:
    cosines = [0.6 + rank / 100 for rank in range(12)]
    # Far from each other, all near the one that comes last.
    items = []
    for place, cosine in enumerate(cosines[:10]):
        vector = [cosine, *[0.0] * 11]
        vector[place + 1] = math.sqrt(1 - cosine**2)
        items.append({"content": f"rank {place}", "embedding": vector})
    others = ids(await space.remember_all(items))
    last = (await space.remember("last", embedding=space.vector(1))).id
    assert set(await space.neighbours(last, "thematic")) == set(others[-HANDFUL:])


async def test_one_at_a_time_or_all_at_once_gives_the_same_links(services: Services) -> None:
    items = clusters(number=4, of=HANDFUL + 1)
    spaces = [await new_space(services) for _ in range(4)]
    await spaces[0].remember_all(items)
    for item in items:
        await spaces[1].remember(**item)  # type: ignore[arg-type]
    await spaces[2].remember_all(reversed(items))
    for start in range(0, len(items), 5):
        await spaces[3].remember_all(items[start : start + 5])
    expected = await graph(spaces[0])
    assert len(expected) == 4 * 15
    for space in spaces[1:]:
        found = await graph(space)
        assert found.keys() == expected.keys()
        assert all(found[ends] == pytest.approx(weight, abs=1e-6) for ends, weight in expected.items())


async def test_through_the_vector_index_the_links_are_the_same(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = clusters(number=3, of=HANDFUL + 1)
    exact, indexed = await new_space(services), await new_space(services)
    await exact.remember_all(items)
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 2)
    for start in range(0, len(items), 4):
        await indexed.remember_all(items[start : start + 4])
    expected = await graph(exact)
    found = await graph(indexed)
    assert found.keys() == expected.keys()
    assert all(found[ends] == pytest.approx(weight, abs=1e-6) for ends, weight in expected.items())


async def test_agents_are_not_linked(services: Services, space: Space) -> None:
    other = await new_space(services)
    one = (await space.remember("one", embedding=space.vector(1))).id
    await other.remember("one", embedding=space.vector(1))
    assert await space.edges(one) == []


async def test_a_deleted_memory_is_not_linked(space: Space) -> None:
    one = (await space.remember("one", embedding=space.vector(1))).id
    other = (await space.remember("other", embedding=space.vector(1))).id
    await space.forget(one)
    assert await space.edges(other) == []
    third = (await space.remember("third", embedding=space.vector(1))).id
    assert await space.neighbours(third, "thematic") == {other: 1.0}


@pytest.mark.parametrize("at_once", [1, 30])
async def test_deleted_memories_take_no_place_among_the_nearest(space: Space, at_once: int) -> None:
    kept = (await space.remember("kept", embedding=at_angle(space, 0.8))).id
    gone = ids(
        await space.remember_all(
            {"content": f"gone {number}", "embedding": space.vector(1)} for number in range(2 * HANDFUL)
        )
    )
    for id in gone:
        await space.forget(id)
    others = [{"content": f"far {place}", "embedding": space.vector(-1, 0, place)} for place in range(at_once - 1)]
    *_, new = ids(await space.remember_all([*others, {"content": "new", "embedding": space.vector(1)}]))
    assert set(await space.neighbours(new, "thematic")) == {kept}


async def test_a_link_that_was_deleted_stays_so_when_links_are_made_again(space: Space) -> None:
    one = (await space.remember("one", embedding=space.vector(1))).id
    other = (await space.remember("other", embedding=space.vector(1))).id
    third = (await space.remember("third", embedding=space.vector(1))).id
    await space.unlink(other, one, "thematic")
    assert await link_again(space, [one, other, third])
    assert await space.neighbours(one, "thematic") == {third: 1.0}
    assert await space.neighbours(other, "thematic") == {third: 1.0}


async def test_making_links_again_changes_nothing(space: Space) -> None:
    written = ids(await space.remember_all(clusters(number=2, of=4)))
    before = [await space.edges(id) for id in written]
    assert await link_again(space, written)
    assert [await space.edges(id) for id in written] == before


async def link_again(space: Space, memory_ids: list[str]) -> bool:
    """As a server does that cannot know whether the last attempt came through."""
    return await space.services.projector.run(DEFAULT_SCOPE, UUID(space.agent_id), [UUID(id) for id in memory_ids])


async def test_what_is_very_short_is_near_all_that_is_short_and_linked_to_none(shared_services: Services) -> None:
    space = await new_space(shared_services)
    short = [{"content": text, "embedding": space.vector(1)} for text in ("Thanks, bye!", "Bye, thanks!")]
    long = [
        {"content": f"{text} Until Monday at the office.", "embedding": space.vector(1)} for text in ("Bye!", "Yes.")
    ]
    written = ids(await space.remember_all([*short, *long]))
    assert await space.neighbours(written[0], "thematic") == {}
    assert await space.neighbours(written[2], "thematic") == {written[3]: 1}
    last = await space.remember("Well then, until Monday at the office.", embedding=space.vector(1))
    assert set(await space.neighbours(last.id, "thematic")) == {written[2], written[3]}
