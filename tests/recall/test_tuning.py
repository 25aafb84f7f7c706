"""What decides what recall finds can be varied, and is the product's own where it is not."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from engram.graph.tuning import GraphTuning
from engram.recall.tuning import RecallTuning
from engram.tuning import Tuning
from tests.fixtures.spaces import Space, ids


async def test_anchors(space: Space) -> None:
    near, far = ids(
        await space.remember_all(
            [{"content": "near", "embedding": space.vector(1)}, {"content": "far", "embedding": space.vector(1, 1)}]
        )
    )
    beyond = (await space.remember("beyond", embedding=space.vector(0, 0, 1))).id
    await space.link(far, beyond, "causal")
    asked = {"embedding": space.vector(1), "lexical": False, "relation_types": ["causal"]}
    assert (await space.hits(**asked))[beyond].graph_score > 0
    tuned = await space.tuned(Tuning(recall=RecallTuning(anchors=1)))
    assert (await tuned.hits(**asked))[beyond].graph_score == 0
    assert near in await tuned.hits(**asked)


async def test_temporal_weight(space: Space) -> None:
    first, second = ids(await space.remember_all([{"content": text, "session_id": "s"} for text in ("one", "two")]))
    tuned = await space.tuned(Tuning(graph=GraphTuning(temporal_weight=0.3)))
    assert await space.neighbours(first, "temporal") == {second: 0.8}
    assert await tuned.neighbours(first, "temporal") == {second: 0.3}


async def test_specificity_and_hub_size(space: Space) -> None:
    written = ids(await space.remember_all([{"content": f"note {at}", "entities": ["Zyra"]} for at in range(3)]))
    specific = dict.fromkeys(written[1:], pytest.approx(1 / (1 + math.log(3))))
    assert await space.neighbours(written[0], "entity_link") == specific
    flat = await space.tuned(Tuning(graph=GraphTuning(specificity=False)))
    assert await flat.neighbours(written[0], "entity_link") == dict.fromkeys(written[1:], 1.0)
    narrow = await space.tuned(Tuning(graph=GraphTuning(hub_size=2)))
    assert await narrow.neighbours(written[0], "entity_link") == {}


@pytest.mark.parametrize("at_once", [1, 20])
async def test_thematic_degree_and_threshold(space: Space, at_once: int) -> None:
    tuned = await space.tuned(
        Tuning(graph=GraphTuning(thematic_degree=1, thematic_threshold=0.2, thematic_min_bytes=0))
    )
    cosines = [0.9, 0.5, 0.1]
    written = [
        {"content": f"at {cosine}", "embedding": space.vector(cosine, math.sqrt(1 - cosine**2))} for cosine in cosines
    ]
    await space.remember_all(written)
    aside = [{"content": f"aside {at}", "embedding": space.vector(0, 0, 0, *[0] * at, 1)} for at in range(at_once - 1)]
    new = ids(await tuned.remember_all([*aside, {"content": "new", "embedding": space.vector(1)}]))[-1]
    (nearest,) = (await space.neighbours(new, "thematic")).values()
    assert nearest == pytest.approx((0.9 - 0.2) / 0.8)


async def test_the_shape_of_bm25(space: Space) -> None:
    once, often = ids(await space.remember_all(["otter and a long tail of words", "otter otter otter"]))
    tuned = await space.tuned(Tuning(recall=RecallTuning(bm25_k1=0)))
    assert (await space.hits("otter"))[once].lexical_score < 1
    hits = await tuned.hits("otter")
    assert hits[once].lexical_score == hits[often].lexical_score == 1


@pytest.mark.parametrize(
    "values", [{"anchors": 0}, {"bm25_b": 1.5}, {"bm25_k1": float("nan")}, {"fan_out": 0.5}, {"anchor": 1}]
)
def test_a_value_out_of_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(values))):
        RecallTuning(**values)


def test_nothing_set_is_the_products_own() -> None:
    assert Tuning() == Tuning(recall=RecallTuning(), graph=GraphTuning())
    assert GraphTuning().thematic_threshold is None
