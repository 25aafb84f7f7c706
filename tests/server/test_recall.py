"""Recall over HTTP."""

from __future__ import annotations

import re
from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram, NotFoundError
from engram.agents.schemas import Agent
from engram.memories.schemas import MemoryCreated


@pytest.fixture
async def move(engram: AsyncEngram, agent: Agent) -> MemoryCreated:
    """One of two memories of a session; the other is about the weather."""
    moved = await engram.memories.create(
        agent.id, "Alice moved to Lisbon", session_id="s", entities=["Alice"], valid_from="2026-05-01"
    )
    await engram.memories.create(agent.id, "Rain all week", session_id="s", valid_from="2026-05-02")
    return moved


async def test_the_memory_that_answers_comes_first_with_its_scores(
    engram: AsyncEngram, agent: Agent, move: MemoryCreated
) -> None:
    answer = await engram.memories.recall(agent.id, "where did Alice move?", explain=True)
    first = answer.results[0]
    assert (first.id, answer.query, answer.truncated) == (move.id, "where did Alice move?", False)
    assert first.explain is not None
    assert first.score == pytest.approx(first.explain.vector_part + first.explain.graph_part)
    assert answer.took_ms > 0


async def test_what_is_connected_to_the_answer_comes_with_its_path(
    engram: AsyncEngram, agent: Agent, move: MemoryCreated
) -> None:
    answer = await engram.memories.recall(agent.id, "Alice Lisbon")
    weather = answer.results[1]
    assert [step.memory_id for step in weather.path] == [move.id, weather.id]
    assert (weather.path[1].relation_type, weather.hops) == ("temporal", 1)


async def test_a_recall_is_repeatable_byte_for_byte(http: httpx.AsyncClient, agent: Agent, move: MemoryCreated) -> None:
    body = {"agent_id": agent.id, "query": "Alice", "explain": True}
    first, second = [(await http.post("/v1/memories/recall", json=body)).text for _ in range(2)]
    assert _timeless(first) == _timeless(second)
    assert "took_ms" in first


def _timeless(answer: str) -> str:
    return re.sub(r'"took_ms":[^,}]+', "", answer)


async def test_a_recall_finds_nothing_for_an_unknown_agent_and_does_not_make_it(engram: AsyncEngram) -> None:
    with pytest.raises(NotFoundError):
        await engram.memories.recall(uuid4(), "anything")
    assert [agent async for agent in engram.agents.list()] == []
