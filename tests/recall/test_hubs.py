"""What a hub leads to, and what else is shared by many, is found whatever else stands in the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram.db.database import driver
from engram.memories import vectors as vector_search
from engram.recall.statements import candidates
from engram.services import Services
from tests.fixtures.spaces import Space, ids, new_space

ABOUT_HUB = [{"name": "Hub", "role": "subject"}]


@pytest.fixture
async def space(unlinked: Services) -> Space:
    return await new_space(unlinked)


async def aside(space: Space) -> None:
    """Memories nearer than those that only a walk finds, so that these are no anchors."""
    await space.remember_all(
        {"content": f"aside {place}", "embedding": space.vector(0.01, *[0.0] * (place % 6), 1)} for place in range(60)
    )


async def reached(space: Space, wanted: list[str], **asked: Any) -> tuple[int, bool]:
    answer = await space.ask(embedding=space.vector(1), lexical=False, top_k=200, **asked)
    return len({hit.id for hit in answer.results if hit.graph_score > 0} & set(wanted)), answer.truncated


async def hub(space: Space, number: int, **fields: Any) -> list[str]:
    return ids(
        await space.remember_all(
            {"content": f"fact {at} {fields}", "embedding": space.vector(-1, at / 100), "entities": ABOUT_HUB, **fields}
            for at in range(number)
        )
    )


async def test_what_has_ended_does_not_crowd_out_what_holds(space: Space) -> None:
    await space.remember("centre", embedding=space.vector(1), entities=["Hub"])
    began = datetime(2020, 1, 1, tzinfo=UTC)
    await hub(space, 55, valid_from=began.isoformat(), valid_until=(began + timedelta(days=1)).isoformat())
    current = await hub(space, 5)
    await aside(space)
    assert await reached(space, current, max_hops=1, relation_types=["entity_link"]) == (5, False)


async def test_subjects_that_are_left_out_are_said(space: Space) -> None:
    await space.remember("centre", embedding=space.vector(1), entities=["Hub"])
    facts = await hub(space, 100)
    await aside(space)
    found, truncated = await reached(space, facts, max_hops=1, relation_types=["entity_link"])
    assert 0 < found < 100
    assert truncated


async def test_an_entity_that_a_weak_memory_led_to_is_led_to_by_a_strong_one(space: Space) -> None:
    centres = ids(
        await space.remember_all({"content": f"centre {at}", "embedding": space.vector(1, at / 100)} for at in range(2))
    )
    await space.remember("weak", embedding=space.vector(0.05, 0, 1), entities=["Eve"])
    strong = (await space.remember("strong", embedding=space.vector(-1), entities=["Eve"])).id
    await space.link(centres[0], strong, "causal")
    for number, centre in enumerate(centres):
        ends = await space.remember_all(
            {"content": f"end {number} {at}", "embedding": space.vector(-1, at / 100, number)} for at in range(20)
        )
        for end in ids(ends):
            await space.link(centre, end, "causal", weight=0.9)
    about = [{"name": "Eve", "role": "subject"}]
    members = ids(
        await space.remember_all(
            {"content": f"member {at}", "embedding": space.vector(-1, 0, 0, at / 100), "entities": about}
            for at in range(5)
        )
    )
    await aside(space)
    answer = await space.ask(embedding=space.vector(1), lexical=False, top_k=200)
    graph = {hit.id: hit.graph_score for hit in answer.results}
    assert [graph[member] for member in members] == pytest.approx([0.95 * 0.97 * 0.95 * 0.98] * 5)


async def test_the_words_of_a_very_long_memory_count_alike(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    await space.remember_all([f"alpha beta thing{at} " + "gamma " * at for at in range(20)])
    asked: dict[str, Any] = {"embedding": space.vector(1), "top_k": 20, "explain": True}
    packed = await space.ask("alpha beta gamma", **asked)
    monkeypatch.setattr(candidates, "MAX_PACKED", 8)
    looked_up = await space.ask("alpha beta gamma", **asked)
    assert looked_up.results == packed.results


async def test_one_long_memory_does_not_hide_the_others(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 10)
    await space.remember_all({"content": f"note {at}", "embedding": space.vector(-1, at)} for at in range(100))
    async with space.services.database.transaction() as connection:
        await driver(connection).execute(
            """
            INSERT INTO memory_passages (agent_id, tenant_id, embedding_model_id, memory_id, position, embedding)
            SELECT m.agent_id, m.tenant_id, m.embedding_model_id, m.id, number, near.embedding
            FROM (SELECT *, row_number() OVER (ORDER BY id) AS place FROM memories) AS m
            CROSS JOIN LATERAL (
                SELECT number, ('[1,' || 0.001 * number || ',0,0,0,0,0,0]')::vector AS embedding
                FROM generate_series(0, CASE WHEN m.place = 1 THEN 499 ELSE 0 END) AS number WHERE m.place = 1
                UNION ALL
                SELECT 0, ('[1,' || 0.6 + 0.001 * m.place || ',0,0,0,0,0,0]')::vector WHERE m.place > 1
            ) AS near
            """
        )
        await driver(connection).execute(
            "UPDATE agent_counters SET passages = 599 WHERE shard = (SELECT min(shard) FROM agent_counters)"
        )
    answer = await space.ask(embedding=space.vector(1), lexical=False, graph_weight=0, top_k=10)
    assert [hit.vector_score > 0.7 for hit in answer.results] == [True] * 10
