"""Agents over HTTP."""

from __future__ import annotations

import random
from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram, ConflictError, NotFoundError
from engram.agents.schemas import Agent


async def test_an_agent_is_created_once_and_then_got(http: httpx.AsyncClient) -> None:
    body = {"name": " Front\n desk ", "metadata": {"floor": 1, "boss": None}, "language": "german"}
    created = await http.post("/v1/agents", json=body)
    again = await http.post("/v1/agents", json={"name": "Front desk", "language": "english"})
    assert (created.status_code, again.status_code) == (201, 200)
    assert created.json() == again.json()
    assert created.json() | {"name": "Front desk", "metadata": body["metadata"], "language": "german"} == created.json()


async def test_times_are_in_utc_and_say_so(http: httpx.AsyncClient) -> None:
    agent = (await http.post("/v1/agents", json={"name": "clock"})).json()
    assert agent["created_at"].endswith("Z")
    assert agent["updated_at"].endswith("Z")


async def test_an_agent_can_be_read_changed_and_deleted(engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk", metadata={"old": True})
    changed = await engram.agents.update(agent.id, name="chief clerk", metadata={})
    assert (changed.id, changed.name, changed.metadata) == (agent.id, "chief clerk", {})
    assert await engram.agents.get(agent.id) == changed
    await engram.agents.delete(agent.id)
    with pytest.raises(NotFoundError, match=agent.id):
        await engram.agents.get(agent.id)


async def test_deleting_answers_without_a_body(http: httpx.AsyncClient, agent: Agent) -> None:
    response = await http.delete(f"/v1/agents/{agent.id}")
    assert (response.status_code, response.content) == (204, b"")


async def test_an_update_without_changes_changes_nothing(http: httpx.AsyncClient, agent: Agent) -> None:
    response = await http.patch(f"/v1/agents/{agent.id}", json={})
    assert response.status_code == 200
    assert Agent.model_validate_json(response.content) == agent


async def test_a_name_that_is_taken_is_a_conflict(engram: AsyncEngram, agent: Agent) -> None:
    other = await engram.agents.create("another")
    with pytest.raises(ConflictError, match="clerk"):
        await engram.agents.update(other.id, name="clerk")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "", None), ("PATCH", "", {"name": "x"}), ("DELETE", "", None), ("GET", "/stats", None)],
)
async def test_an_unknown_agent_is_not_found_and_not_made(
    http: httpx.AsyncClient, engram: AsyncEngram, method: str, path: str, body: object
) -> None:
    response = await http.request(method, f"/v1/agents/{uuid4()}{path}", json=body)
    assert response.status_code == 404
    assert response.json()["type"] == "not-found"
    assert [agent async for agent in engram.agents.list()] == []


async def test_agents_page_by_name(engram: AsyncEngram) -> None:
    names = [f"agent {number:02}" for number in range(5)]
    for name in reversed(names):
        await engram.agents.create(name)
    assert [agent.name async for agent in engram.agents.list(limit=2)] == names


async def test_agents_with_the_longest_names_page_too(engram: AsyncEngram) -> None:
    # Characters of four bytes in no order: nothing compresses them.
    letters = [chr(code) for code in range(0x20000, 0x2A000)]
    names = ["".join(random.Random(seed).choices(letters, k=512)) for seed in range(4)]
    for name in names:
        await engram.agents.create(name)
    assert [agent.name async for agent in engram.agents.list(limit=1)] == sorted(names)


async def test_an_agent_is_found_by_its_name(engram: AsyncEngram, agent: Agent) -> None:
    await engram.agents.create("another")
    assert [found.id async for found in engram.agents.list(name="clerk")] == [agent.id]
    assert [found.id async for found in engram.agents.list(name="nobody")] == []


async def test_stats_count_facts_by_what_became_of_them(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    async def append(object: str, predicate: str = "works_at") -> str:
        body = {"agent_id": agent.id, "subject": "Alice", "predicate": predicate, "object": object}
        return str((await http.post("/v1/facts", json=body)).raise_for_status().json()["id"])

    await append("Acme")
    await append("Initech")
    await append("Hooli")
    await http.delete(f"/v1/facts/{await append('tea', 'likes')}")
    await http.post(f"/v1/facts/{await append('Bob', 'knows')}/undo")
    for other in ("Acme Corp", "ACME Inc"):
        body = {"agent_id": agent.id, "name": "Acme", "other": other}
        merge = (await http.post("/v1/facts/merge", json=body)).raise_for_status().json()
    await http.delete(f"/v1/facts/merge/{merge['id']}")
    stats = await engram.agents.stats(agent.id)
    assert (stats.facts, stats.merges) == (1, 1)
    assert stats.facts_by_status == {"standing": 1, "superseded": 2, "deleted": 1, "undone": 1}


async def test_stats_count_what_an_agent_holds(engram: AsyncEngram, agent: Agent) -> None:
    kept = await engram.memories.create(agent.id, "Alice keeps the keys", entities=["Alice"])
    gone = await engram.memories.create(agent.id, "Bob keeps the books")
    await engram.memories.delete(gone.id)
    stats = await engram.agents.stats(agent.id)
    assert (stats.agent_id, stats.memories, stats.entities, stats.pending_links) == (agent.id, 1, 1, 0)
    assert (sum(stats.memories_by_status.values()), sum(stats.edges_by_type.values())) == (2, stats.edges)
    assert stats.memories_by_status["deleted"] == 1
    assert stats.postings > 0
    assert stats.projections == {}
    assert kept.linked


async def test_a_language_that_nobody_stems_is_refused_by_name(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/agents", json={"name": "x", "language": "klingon"})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "language"
