"""Where the walk starts: the best twenty by vector, and the best twenty by words."""

from __future__ import annotations

import math

import pytest

from tests.fixtures.spaces import Space, ids

ANCHORS = 20


def at_angle(space: Space, cosine: float) -> list[float]:
    """A vector of this cosine with ``space.vector(1)``."""
    return space.vector(cosine, math.sqrt(1 - cosine**2))


async def test_the_twentieth_by_vector_leads_on_and_the_next_does_not(space: Space) -> None:
    written = ids(
        await space.remember_all(
            {"content": f"near {rank}", "embedding": at_angle(space, 0.99 - rank / 100)} for rank in range(ANCHORS + 1)
        )
    )
    beyond = ids(
        await space.remember_all(
            {"content": f"beyond {number}", "embedding": space.vector(0, 0, 0, *[0] * number, 1)} for number in range(2)
        )
    )
    await space.link(written[ANCHORS - 1], beyond[0], "causal")
    await space.link(written[ANCHORS], beyond[1], "causal")
    hits = await space.hits(embedding=space.vector(1), lexical=False, max_hops=1, top_k=100)
    assert hits[beyond[0]].graph_score == pytest.approx(0.8 * 0.95 * 0.97)
    assert hits[beyond[1]].graph_score == 0


async def test_the_twentieth_by_words_leads_on_and_the_next_does_not(space: Space) -> None:
    by_vector = [{"content": f"aside {number}", "embedding": space.vector(1)} for number in range(ANCHORS)]
    # The oftener a word stands among equally many, the better the match.
    by_words = [
        {"content": " ".join(["zebra"] * (40 - rank) + ["filler"] * rank), "embedding": space.vector(-1, 0, 0, 1)}
        for rank in range(ANCHORS + 1)
    ]
    written = ids(await space.remember_all([*by_vector, *by_words]))[ANCHORS:]
    beyond = ids(
        await space.remember_all(
            {"content": f"beyond {number}", "embedding": space.vector(-1, 0, 0, -1)} for number in range(2)
        )
    )
    await space.link(written[ANCHORS - 1], beyond[0], "causal")
    await space.link(written[ANCHORS], beyond[1], "causal")
    hits = await space.hits("zebra", embedding=space.vector(1), max_hops=1, top_k=100)
    twentieth = hits[written[ANCHORS - 1]].lexical_score
    assert 0 < hits[written[ANCHORS]].lexical_score < twentieth < 1
    assert hits[beyond[0]].graph_score == pytest.approx(twentieth * 0.95 * 0.97)
    assert hits[beyond[1]].graph_score == 0


async def test_a_memory_never_supports_itself(space: Space) -> None:
    here = (await space.remember("here", embedding=space.vector(1))).id
    there = (await space.remember("there", embedding=space.vector(0, 1))).id
    await space.link(here, there, "causal")
    hits = await space.hits(embedding=space.vector(1), lexical=False, max_hops=5)
    assert hits[here].graph_score == 0
    assert hits[there].graph_score == pytest.approx(0.95 * 0.97)


async def test_two_memories_support_each_other(space: Space) -> None:
    one = (await space.remember("one", embedding=space.vector(1))).id
    other = (await space.remember("other", embedding=space.vector(0.6, 0.8))).id
    await space.link(one, other, "supports", weight=0.5)
    hits = await space.hits(embedding=space.vector(1), lexical=False)
    assert hits[one].graph_score == pytest.approx(0.6 * 0.95 * 0.96 * 0.5)
    assert hits[other].graph_score == pytest.approx(1.0 * 0.95 * 0.96 * 0.5)


async def test_a_lone_vector_hit_has_no_graph_score(space: Space) -> None:
    lone = (await space.remember("lone", embedding=space.vector(1))).id
    hit = (await space.hits(embedding=space.vector(1), lexical=False))[lone]
    assert (hit.vector_score, hit.graph_score, hit.score) == pytest.approx((1.0, 0.0, 0.6))


async def test_a_memory_that_only_the_graph_found_still_has_its_vector_score(space: Space) -> None:
    near = ids(
        await space.remember_all(
            {"content": f"near {number}", "embedding": at_angle(space, 0.9)} for number in range(60)
        )
    )
    far = (await space.remember("far", embedding=at_angle(space, 0.25))).id
    await space.link(near[0], far, "causal")
    # Sixty are nearer, more than are looked at by vector.
    hits = await space.hits(embedding=space.vector(1), lexical=False, max_hops=1, graph_weight=1)
    assert hits[far].vector_score == pytest.approx(0.25)
    assert hits[far].graph_score == pytest.approx(0.9 * 0.95 * 0.97)
