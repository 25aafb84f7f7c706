"""Asserting an edge again: while it stands, and after it was deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram.problems import InvalidInputProblem
from tests.fixtures.spaces import Space, ids

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("relation", ["supports", "contradicts"])
async def test_a_deleted_edge_comes_back_as_new(space: Space, relation: str) -> None:
    one, other = await space.remember("one"), await space.remember("other")
    past = datetime.now(UTC) - timedelta(days=1)
    await space.link(one.id, other.id, relation, weight=0.9, reason="old", label="was", valid_until=past)
    assert await space.edges(one.id, relation) == []
    await space.unlink(one.id, other.id, relation)
    await space.link(one.id, other.id, relation, weight=0.5)
    (edge,) = await space.edges(one.id, relation)
    assert (edge.weight, edge.reason, edge.label, edge.valid_until) == (0.5, None, None, None)


async def test_what_is_not_said_again_stays(space: Space) -> None:
    one, other = await space.remember("one"), await space.remember("other")
    await space.link(one.id, other.id, "causal", weight=0.4, reason="seen", label="broke")
    await space.link(one.id, other.id, "causal", weight=0.3)
    (edge,) = await space.edges(one.id, "causal")
    assert (edge.weight, edge.reason, edge.label) == (0.4, "seen", "broke")


async def test_windows_that_exclude_each_other_are_refused(space: Space) -> None:
    one, other = await space.remember("one"), await space.remember("other")
    now = datetime.now(UTC)
    await space.link(one.id, other.id, "causal", valid_from=now + timedelta(days=1))
    with pytest.raises(InvalidInputProblem) as refused:
        await space.link(one.id, other.id, "causal", valid_until=now + timedelta(days=1))
    assert refused.value.errors[0].field == "valid_until"
    (edge,) = await space.edges(one.id, "causal")
    assert edge.valid_until is None


async def hours_held(space: Space, id: str, **asked: Any) -> list[int]:
    return [hour for hour in range(10) if await space.edges(id, "causal", as_of=NOON + hour * HOUR, **asked)]


async def pair(space: Space) -> tuple[str, str]:
    one, other = ids(
        await space.remember_all({"content": text, "valid_from": NOON - HOUR} for text in ("apple", "bridge"))
    )
    return one, other


@pytest.mark.parametrize(
    ("said", "held"),
    [
        # A gap: both hold. What is given without an end after one that has ended begins anew.
        ({"valid_from": 6, "valid_until": 8}, [2, 3, 6, 7]),
        ({"valid_from": 6}, [2, 3, 6, 7, 8, 9]),
        ({"valid_from": 0, "valid_until": 1}, [0, 2, 3]),
        # Windows that meet are one, and one that overlaps what stands corrects it.
        ({"valid_from": 4, "valid_until": 5}, [2, 3, 4]),
        ({"valid_from": 4}, [2, 3, 4, 5, 6, 7, 8, 9]),
        ({"valid_from": 0, "valid_until": 2}, [0, 1, 2, 3]),
        ({"valid_from": 3, "valid_until": 6}, [3, 4, 5]),
        ({"valid_from": 1}, [1, 2, 3]),
        ({"valid_until": 7}, [2, 3, 4, 5, 6]),
        ({}, [2, 3]),
    ],
)
async def test_a_window_said_anew_is_another_period_or_corrects_the_one_that_stands(
    space: Space, said: dict[str, int], held: list[int]
) -> None:
    one, other = await pair(space)
    await space.link(one, other, "causal", valid_from=NOON + 2 * HOUR, valid_until=NOON + 4 * HOUR)
    before = datetime.now(UTC)
    await space.link(one, other, "causal", **{name: NOON + hour * HOUR for name, hour in said.items()})
    assert await hours_held(space, one) == held
    assert await hours_held(space, one, known_at=before) == [2, 3]


async def test_what_an_edge_was_is_known_as_of_before_each_change(space: Space) -> None:
    one, other = await pair(space)
    moments: list[datetime] = [datetime.now(UTC)]

    async def note() -> None:
        moments.append(datetime.now(UTC))

    await space.link(one, other, "causal", weight=0.3, label="first")
    await note()
    await space.link(one, other, "causal", weight=0.6, reason="seen")
    await note()
    await space.link(one, other, "causal", weight=0.2)  # says nothing new
    await note()
    await space.unlink(one, other, "causal")
    await note()
    await space.link(one, other, "causal", weight=0.1)
    await note()
    known = [
        [(edge.weight, edge.label, edge.reason) for edge in await space.edges(one, "causal", known_at=moment)]
        for moment in moments
    ]
    both = (0.6, "first", "seen")
    assert known == [[], [(0.3, "first", None)], [both], [both], [], [(0.1, None, None)]]
    (closed,) = await space.edges(one, "causal", known_at=moments[4], include_invalidated=True)
    assert closed.invalidated_at is not None
    assert closed.weight == 0.6
    (edge,) = await space.edges(one, "causal", include_invalidated=True)
    assert edge.invalidated_at is None
