"""Results that are too large to be shown together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engram.db.database import driver
from engram.recall.schemas import RecallHit
from tests.fixtures.spaces import Space

LARGE = {"text": "🜨" * 190_000}
"""Metadata of 760 kB: eleven such are under 8 MiB, twelve are over."""


def without_text(hit: RecallHit) -> dict[str, Any]:
    return hit.model_dump(exclude={"metadata", "content", "recorded_at", "updated_at"})


async def linked(space: Space, count: int) -> list[str]:
    """The ids of memories in a session that name somebody, each less like the question."""
    items = [
        {
            "content": f"turn {at} with Zyra",
            "session_id": "s",
            "entities": ["Zyra"],
            "embedding": space.vector(1, at / count),
        }
        for at in range(count)
    ]
    return [result.id for result in (await space.remember_all(items)).results]


async def enlarge(space: Space, ids: list[str]) -> None:
    """Give memories large metadata, as if they had been written with it."""
    async with space.services.database.transaction() as connection:
        await driver(connection).execute(
            "UPDATE memories SET metadata = $2 WHERE id = ANY ($1::uuid[])", ids, json.dumps(LARGE)
        )


@pytest.mark.parametrize("diversity", [0, 0.5])
async def test_results_end_where_they_are_too_large_and_are_otherwise_the_same(space: Space, diversity: float) -> None:
    ids = await linked(space, 15)
    asked = {"query": "Zyra", "embedding": space.vector(1), "top_k": 15, "explain": True, "diversity": diversity}
    whole = await space.ask(**asked)
    assert (len(whole.results), whole.truncated) == (15, False)
    await enlarge(space, ids)
    cut = await space.ask(**asked)
    assert (len(cut.results), cut.truncated) == (11, True)
    assert [without_text(hit) for hit in cut.results] == [without_text(hit) for hit in whole.results[:11]]
    assert all(hit.metadata == LARGE for hit in cut.results)


async def test_results_that_fit_are_all_shown(space: Space) -> None:
    await enlarge(space, await linked(space, 11))
    answer = await space.ask("Zyra", embedding=space.vector(1), top_k=11)
    assert (len(answer.results), answer.truncated) == (11, False)


async def test_the_best_result_is_shown_whatever_its_size(space: Space) -> None:
    best = await space.remember("🜨" * 2_000_000, embedding=space.vector(1), metadata=LARGE)
    await space.remember("short", embedding=space.vector(0.5, 0.5))
    answer = await space.ask("?", embedding=space.vector(1))
    assert ([hit.id for hit in answer.results], answer.truncated) == ([best.id], True)
