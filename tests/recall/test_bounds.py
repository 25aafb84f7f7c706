"""A recall is bounded: it follows the strongest edges that may be walked, and says when it left some out."""

from __future__ import annotations

from typing import Any

import pytest

from engram.services import Services
from tests.fixtures.spaces import Space, ids, new_space


@pytest.fixture
async def space(unlinked: Services) -> Space:
    return await new_space(unlinked)


async def star(space: Space, *rays: tuple[str, float]) -> tuple[str, list[str]]:
    """A memory at the query, and one at the end of each ray: a relation and a weight."""
    centre = (await space.remember("centre", embedding=space.vector(1))).id
    ends = ids(
        await space.remember_all(
            {"content": f"end {number}", "embedding": space.vector(-1, number / 10)} for number in range(len(rays))
        )
    )
    for end, (relation, weight) in zip(ends, rays, strict=True):
        await space.link(centre, end, relation, weight=weight)
    # Nearer than the ends, so that those are no anchors.
    await space.remember_all(
        {"content": f"aside {place}", "embedding": space.vector(0.01, *[0.0] * (place % 6), 1)} for place in range(20)
    )
    return centre, ends


async def reached(space: Space, **asked: Any) -> tuple[set[str], bool]:
    answer = await space.ask(embedding=space.vector(1), lexical=False, top_k=200, **asked)
    return {hit.id for hit in answer.results if hit.graph_score > 0}, answer.truncated


async def test_of_too_many_edges_the_strongest_are_followed_and_the_answer_says_so(space: Space) -> None:
    weights = [0.1 + number / 100 for number in range(60)]
    _, ends = await star(space, *(("causal", weight) for weight in weights))
    found, truncated = await reached(space, max_hops=1, relation_types=["causal"])
    assert truncated
    assert 0 < len(found) < 60
    assert found == set(ends[-len(found) :])


async def test_a_walk_that_left_nothing_out_says_so(space: Space) -> None:
    _, ends = await star(space, *[("causal", 0.5)] * 10)
    assert await reached(space, max_hops=1, relation_types=["causal"]) == (set(ends), False)
    assert await reached(space, max_hops=0) == (set(), False)


async def test_edges_that_are_not_walked_do_not_use_up_the_bound(space: Space) -> None:
    _, ends = await star(space, *[("causal", 1.0)] * 60, *[("supports", 0.1)] * 5)
    found, truncated = await reached(space, max_hops=1, relation_types=["supports"])
    assert found == set(ends[60:])
    assert not truncated


async def test_edges_to_what_a_filter_hides_do_not_use_up_the_bound(space: Space) -> None:
    _, hidden = await star(space, *[("causal", 1.0)] * 60)
    tagged = {"tags": ["seen"], "embedding": space.vector(-1)}
    seen = ids(await space.remember_all({"content": f"seen {number}", **tagged} for number in range(5)))
    start = (await space.remember("tagged centre", tags=["seen"], embedding=space.vector(1))).id
    for end in hidden:
        await space.link(start, end, "causal")
    for end in seen:
        await space.link(start, end, "causal", weight=0.1)
    found, truncated = await reached(space, max_hops=1, tags=["seen"], relation_types=["causal"])
    assert found == set(seen)
    assert not truncated
