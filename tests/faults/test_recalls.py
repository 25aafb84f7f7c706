"""Recalls that lost what they should have found."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from engram.memories import vectors as vector_search
from engram.settings import Settings
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_what_is_left_of_a_mostly_deleted_agent_is_found_through_the_index(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 5)
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        space = await new_space(services)
        near = ids(await space.remember_all({"content": f"n{at}", "embedding": space.vector(1)} for at in range(300)))
        left = ids(
            await space.remember_all(
                {"content": f"far {at}", "embedding": space.vector(-1, at / 100)} for at in range(12)
            )
        )
        for id in near:
            await space.forget(id)
        asked = {"embedding": space.vector(1), "lexical": False, "max_hops": 0}
        assert len(await space.hits(**asked)) == 10
        assert set(await space.hits(**asked, top_k=20)) == set(left)


async def test_relevance_decides_inside_a_window_in_which_all_began_together(space: Space) -> None:
    await space.remember_all(
        {"content": f"small talk {at}", "embedding": space.vector(0, 1), "valid_from": NOON} for at in range(300)
    )
    wanted = await space.remember("what matters", embedding=space.vector(1), valid_from=NOON)
    await space.remember_all(
        {"content": f"later {at}", "embedding": space.vector(0, 1), "valid_from": NOON} for at in range(300)
    )
    hits = await space.hits(embedding=space.vector(1), valid_from=NOON, top_k=5)
    assert next(iter(hits)) == wanted.id
    assert len(hits) == 5


async def test_a_hit_passes_a_threshold_of_its_own_score(space: Space) -> None:
    await space.remember_all(f"Alice and her {thing}" for thing in ("boat", "cat", "garden", "piano", "sister"))
    for hit in (await space.ask("Alice plays the piano")).results:
        again = await space.hits("Alice plays the piano", min_score=hit.score)
        assert hit.id in again


async def test_a_list_of_many_values_can_be_asked_for_and_one_of_too_many_is_refused_by_name(space: Space) -> None:
    memory = await space.remember("Alice moved", metadata={"number": 999})
    await space.remember("Alice stayed", metadata={"number": -1})
    assert list(await space.hits("Alice", metadata={"number": {"in": list(range(1_000))}})) == [memory.id]
    with pytest.raises(ValidationError, match="number: 'in' takes at most"):
        await space.hits("Alice", metadata={"number": {"in": list(range(40_000))}})


async def test_one_hub_of_many_edges_gives_the_few_of_a_type_that_is_asked_for(space: Space) -> None:
    hub = (await space.remember("hub")).id
    written = ids(await space.remember_all(f"leaf {at}" for at in range(300)))
    for id in written[:-5]:
        await space.link(hub, id, "supports", weight=1.0)
    for id in written[-5:]:
        await space.link(hub, id, "causal", weight=0.1)
    assert {edge.target_memory_id for edge in await space.edges(hub, "causal", page=10)} == set(written[-5:])
    hits = await space.hits("hub", relation_types=["causal"], graph_weight=1, top_k=200)
    assert {id for id, hit in hits.items() if hit.hops} == set(written[-5:])
