"""A query that names an entity is led to the memories about it."""

from __future__ import annotations

import math

import pytest

from engram.recall.tuning import RecallTuning
from engram.tuning import Tuning
from tests.fixtures.spaces import Space, ids

FAR = {"top_k": 20, "explain": True}


def about(space: Space, name: str, **fields: object) -> dict[str, object]:
    return {"entities": [{"name": name, "role": "subject"}], "embedding": space.vector(-1), **fields}


async def test_a_name_in_the_query_leads_to_what_is_about_it(space: Space) -> None:
    song = await space.remember("A single by Hank Snow", **about(space, "Hello Love"))
    await space.remember("Love letters, and hello from here", embedding=space.vector(-1))
    hits = await space.hits("Who sang Hello Love?", embedding=space.vector(1), **FAR)
    hit = hits[song.id]
    assert (hit.vector_score, hit.graph_score, hit.hops) == (0, 1, 0)
    if hit.lexical_score < 1:
        (step,) = hit.path
        assert (step.memory_id, step.entity, step.weight) == (song.id, "Hello Love", 1)


async def test_and_from_there_the_walk_goes_on(space: Space) -> None:
    song = await space.remember("A single", **about(space, "Hello Love"))
    singer = await space.remember("She died in Tennessee", embedding=space.vector(-1))
    await space.link(song.id, singer.id, "causal")
    hit = (await space.hits("Where did the performer of Hello Love die?", embedding=space.vector(1), **FAR))[singer.id]
    assert hit.graph_score == pytest.approx(0.95 * 0.97)
    assert [step.memory_id for step in hit.path] == [song.id, singer.id]
    assert hit.explain is not None
    assert hit.explain.anchor_score == 1


@pytest.mark.parametrize("many", [2, 10, 24, 25])
async def test_the_more_are_about_it_the_less_it_leads_to_each(space: Space, many: int) -> None:
    written = ids(
        await space.remember_all({"content": f"note {at}", **about(space, "Ada Lovelace")} for at in range(many))
    )
    written += ids(await space.remember_all([{"content": "ada and lovelace too", "embedding": space.vector(-1)}]))
    tuned = await space.tuned(Tuning(recall=RecallTuning(about_weight=0)))
    hits = await tuned.hits("Ada Lovelace", embedding=space.vector(1), top_k=50, max_hops=1)
    expected = 1 / (1 + math.log(many)) if many <= 24 else 0
    for id in written[:many]:
        assert (hits[id].graph_score if id in hits else 0) >= expected - 1e-9
        if expected and not hits[id].hops:
            assert hits[id].graph_score == pytest.approx(expected)


@pytest.mark.parametrize(
    "asked", [{"lexical": False}, {"max_hops": 0}, {"relation_types": ["causal"]}, {"user_id": "somebody else"}]
)
async def test_where_no_name_may_lead_none_does(space: Space, asked: dict[str, object]) -> None:
    await space.remember("A single", user_id="ada", **about(space, "Hello Love"))
    tuned = await space.tuned(Tuning(recall=RecallTuning(about_weight=0)))
    hits = await tuned.hits("Hello Love", embedding=space.vector(1), top_k=20, **asked)
    assert all(hit.graph_score == 0 for hit in hits.values())


async def test_part_of_a_name_is_not_the_name(space: Space) -> None:
    await space.remember("A single", **about(space, "Hello Love"))
    tuned = await space.tuned(Tuning(recall=RecallTuning(about_weight=0)))
    hits = await tuned.hits("Hello there", embedding=space.vector(1), top_k=20)
    assert all(hit.graph_score == 0 for hit in hits.values())
