"""Asserting an edge again: while it stands, and after it was deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.problems import InvalidInputProblem
from tests.fixtures.spaces import Space


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
    await space.link(one.id, other.id, "causal", valid_until=now + timedelta(days=1))
    with pytest.raises(InvalidInputProblem) as refused:
        await space.link(one.id, other.id, "causal", valid_from=now + timedelta(days=2))
    assert refused.value.errors[0].field == "valid_until"
    (edge,) = await space.edges(one.id, "causal")
    assert edge.valid_from is None
