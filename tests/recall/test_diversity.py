"""Diverse answers: maximal marginal relevance over the best hits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.agents.schemas import AgentCreate
from engram.memories.schemas import MemoryBatch
from engram.recall.diversity import choose
from engram.recall.schemas import RecallRequest
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

COPIES = [f"Alice likes her coffee black in the morning, note {at}" for at in range(10)]
OTHER = "Alice has a leaking roof"


@pytest.fixture
async def copies(services: Services) -> str:
    """An agent with ten near-copies and one other memory."""
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="copies"))
    items = [{"content": content} for content in (*COPIES, OTHER)]
    await services.memories.create_many(
        DEFAULT_SCOPE, MemoryBatch.model_validate({"agent_id": agent.id, "items": items})
    )
    return agent.id


async def recalled(services: Services, agent_id: str, **fields: float) -> list[str]:
    request = RecallRequest(agent_id=agent_id, query="How does Alice take her coffee?", top_k=5, **fields)
    response = await services.recall.recall(DEFAULT_SCOPE, request)
    return [hit.content for hit in response.results]


async def test_near_copies_fill_an_answer_but_never_empty_it(services: Services, copies: str) -> None:
    assert set(await recalled(services, copies)) <= set(COPIES)
    assert len(await recalled(services, copies)) == 5


async def test_diversity_lets_another_memory_in(services: Services, copies: str) -> None:
    found = await recalled(services, copies, diversity=0.5)
    assert OTHER in found
    assert len(found) == 5
    assert found[0] == (await recalled(services, copies))[0]


async def test_a_diverse_answer_is_repeatable(services: Services, copies: str) -> None:
    assert await recalled(services, copies, diversity=0.7) == await recalled(services, copies, diversity=0.7)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_without_diversity_the_order_of_scores_stays(scores: list[float], count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(len(scores), 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    best_first = sorted(scores, reverse=True)
    assert choose(best_first, vectors, 0.0, count) == list(range(min(count, len(scores))))


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_each_is_chosen_once(scores: list[float], diversity: float, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(len(scores), 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert sorted(choose(scores, vectors, diversity, len(scores))) == list(range(len(scores)))
