"""What changing memories has done to users elsewhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engram import AsyncEngram, UnprocessableEntityError
from engram.agents.schemas import Agent
from engram.memories.schemas import Memory


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def current(engram: AsyncEngram, agent: Agent) -> list[str]:
    return [memory.content async for memory in engram.memories.list(agent.id)]


async def states(engram: AsyncEngram, id: str) -> list[str]:
    return [version.content async for version in engram.memories.history(id) if version.recorded_until is None]


async def test_a_contradiction_takes_the_place_of_what_was_said_and_both_are_told(
    engram: AsyncEngram, agent: Agent
) -> None:
    loved = await engram.memories.create(agent.id, "I love Chinese food")
    hated = await engram.memories.supersede(loved.id, "I hate Chinese food")
    assert await current(engram, agent) == ["I hate Chinese food"]
    assert [hit.id for hit in await engram.memories.recall(agent.id, "Chinese food")] == [hated.id]
    assert await states(engram, loved.id) == ["I hate Chinese food", "I love Chinese food"]
    then = await engram.memories.recall(agent.id, "Chinese food", as_of=hated.valid_from - timedelta(microseconds=1))
    assert [hit.id for hit in then] == [loved.id]


async def test_a_value_that_changes_a_little_is_changed(engram: AsyncEngram, agent: Agent) -> None:
    for drink in ("cortado", "flat white", "flat whites"):
        made = await engram.memories.set(agent.id, "drink", f"I drink a {drink} each morning.")
        assert not made.deduplicated
        assert await current(engram, agent) == [f"I drink a {drink} each morning."]
    assert len(await states(engram, made.id)) == 3


async def test_changing_back_is_a_change(engram: AsyncEngram, agent: Agent) -> None:
    for drink in ("tea", "coffee", "tea"):
        made = await engram.memories.set(agent.id, "drink", drink)
        assert not made.deduplicated
    assert await states(engram, made.id) == ["tea", "coffee", "tea"]
    assert (await engram.memories.set(agent.id, "drink", "tea")).deduplicated


@pytest.mark.parametrize(
    "change",
    [
        {"content": "It is Bob."},
        {"tags": ["t"]},
        {"tags": []},
        {"metadata": {"a": 2}},
        {"metadata": {}},
        {"confidence": 0.5},
        {"source": "log"},
        {"source": None},
        {"valid_until": "2100-01-01"},
        {"valid_from": "2020-01-01"},
        {"entities": []},
    ],
    ids=str,
)
async def test_every_change_is_made_and_moves_the_time_of_the_last_change(
    engram: AsyncEngram, agent: Agent, change: dict[str, Any]
) -> None:
    """What is empty too: it is what was meant."""
    before: Memory = await engram.memories.create(
        *(agent.id, "It is Ann."), tags=["s"], metadata={"a": 1}, source="chat", entities=["Ann"]
    )
    after = await engram.memories.update(before.id, **change)
    assert (after.version, after.updated_at > before.updated_at) == (2, True)
    shown = (await engram.memories.get(before.id)).model_dump(mode="json")
    shown["entities"] = [entity for entity in shown["entities"] if not entity["recognized"]]
    for field, value in change.items():
        assert str(shown[field]).startswith(value) if field.startswith("valid") else shown[field] == value
    was = (await engram.memories.get(before.id, known_at=before.updated_at)).model_dump(exclude={"entities"})
    assert was == before.model_dump(include=set(was))
    same = await engram.memories.update(before.id, **change)
    assert (same.version, same.updated_at) == (2, after.updated_at)


@pytest.mark.parametrize("change", [{"content": ""}, {"content": " "}, {"confidence": 2.0}, {"tags": [""]}], ids=str)
async def test_a_change_that_cannot_be_meant_is_refused_and_changes_nothing(
    engram: AsyncEngram, agent: Agent, change: dict[str, Any]
) -> None:
    before = await engram.memories.create(agent.id, "It is Ann.")
    with pytest.raises(UnprocessableEntityError, match=next(iter(change))):
        await engram.memories.update(before.id, **change)
    assert (await engram.memories.get(before.id)).version == 1


async def test_what_was_deleted_is_told_of_until_it_is_purged(engram: AsyncEngram, agent: Agent) -> None:
    ann, bob = [await engram.memories.create(agent.id, f"{name} is here.") for name in ("Ann", "Bob")]
    made = await engram.graph.create_edge(ann.id, bob.id, "causal", reason="They came together.")
    cut = await engram.graph.delete_edge(ann.id, bob.id, "causal")
    await engram.memories.delete(bob.id)
    assert [version.ended_by async for version in engram.memories.history(bob.id)] == [None, "delete"]
    before = cut.invalidated_at - timedelta(microseconds=1)
    edges = engram.graph.get_edges(ann.id, known_at=before, relation_type="causal")
    assert [(edge.target_memory_id, edge.reason) async for edge in edges] == [(bob.id, made.reason)]
    known = await engram.memories.recall(agent.id, "Who is here?", known_at=before)
    assert {hit.id for hit in known} == {ann.id, bob.id}
