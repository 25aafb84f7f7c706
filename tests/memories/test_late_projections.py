"""A projection that began before a memory changed and ends after it: what it found of the old text is not written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engram.memories.changes.schemas import MemoryUpdate
from engram.memories.criteria import PastCriteria
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space


def projection(space: Space, name: str) -> Any:
    return next(one for one in space.services.projector.projections if one.name == name)


async def found(space: Space, content: str) -> str:
    page = await space.services.memories.list(
        DEFAULT_SCOPE, space.agent_id, PastCriteria(), status=None, limit=10, cursor=None, include_total=False
    )
    return next(memory.id for memory in page.data if memory.content == content)


def once_after(read: Callable[..., Awaitable[Any]], change: Callable[[], Awaitable[Any]]) -> Callable[..., Any]:
    """``read``, with ``change`` between its first answer and whoever waits for that."""
    changed = False

    async def slow(*args: Any, **named: Any) -> Any:
        nonlocal changed
        answer = await read(*args, **named)
        if not changed:
            changed = True
            await change()
        return answer

    return slow


@pytest.mark.parametrize("changed", ["the new one", "its neighbour"])
async def test_links_of_a_text_that_changed_meanwhile_are_not_drawn(
    space: Space, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    old = await space.remember("We keep the harbour light burning", embedding=space.vector(1, 0.1))
    thematic = projection(space, "thematic")

    async def change() -> None:
        id = old.id if changed == "its neighbour" else await found(space, "The light in the harbour burns")
        update = MemoryUpdate(content="Bread is baked before dawn", embedding=space.vector(0, 0, 1))
        await space.services.changes.revisions.update(DEFAULT_SCOPE, id, update)

    monkeypatch.setattr(thematic, "_near", once_after(thematic._near, change))
    new = await space.remember("The light in the harbour burns", embedding=space.vector(1, 0.2))
    assert await space.edges(new.id, "thematic") == []


async def test_names_in_a_text_that_changed_meanwhile_are_not_recognised(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    await space.remember("Zyra leads the harbour office", entities=["Zyra"])
    entities = projection(space, "entities")

    async def change() -> None:
        id, update = await found(space, "What Zyra said"), MemoryUpdate(content="What nobody said")
        await space.services.changes.revisions.update(DEFAULT_SCOPE, id, update)

    texts = entities._texts
    monkeypatch.setattr(texts, "read", once_after(texts.read, change))
    told = await space.remember("What Zyra said")
    assert (await space.get(told.id)).content == "What nobody said"
    assert await space.entities(told.id) == {}
