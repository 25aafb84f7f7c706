"""Memories over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram, NotFoundError, UnprocessableEntityError
from engram.agents.schemas import Agent
from engram.memories.schemas import EntityRole, MemoryItem, MemoryStatus


async def test_a_memory_comes_back_as_it_was_written(engram: AsyncEngram, agent: Agent) -> None:
    fields = {
        "user_id": "u1",
        "session_id": "s1",
        "tags": ["b", "a"],
        "metadata": {"nothing": None, "n": 10**30, "deep": [{"x": 1.5}], "text": "👨‍👩‍👧‍👦 e\u0301"},
        "source": "chat",
        "confidence": 0.25,
        "valid_from": datetime(2026, 5, 1, 12, tzinfo=UTC),
        "valid_until": datetime(2126, 5, 1, tzinfo=UTC),
    }
    content = "  Alice said:\n\t“e\u0301” is not “é” 👨‍👩‍👧‍👦  "
    created = await engram.memories.create(
        agent.id, content, entities=[{"name": "Alice", "role": "subject"}, "the letter"], **fields
    )
    read = await engram.memories.get(created.id)
    assert {name: getattr(read, name) for name in fields} == fields
    assert (read.content, read.agent_id, read.status) == (content, agent.id, MemoryStatus.current)
    assert {(entity.name, entity.role) for entity in read.entities} == {
        ("Alice", EntityRole.subject),
        ("the letter", EntityRole.mention),
    }
    assert (created.deduplicated, created.linked) == (False, True)


async def test_the_same_memory_is_stored_once_and_the_status_says_so(http: httpx.AsyncClient, agent: Agent) -> None:
    body = {"agent_id": agent.id, "content": "Alice moved to Lisbon"}
    first, second = await http.post("/v1/memories", json=body), await http.post("/v1/memories", json=body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert (first.json()["deduplicated"], second.json()["deduplicated"]) == (False, True)
    assert first.json()["id"] == second.json()["id"]


async def test_a_batch_says_of_each_item_what_became_of_it(http: httpx.AsyncClient, agent: Agent) -> None:
    items = [{"content": "one"}, {"content": "two"}, {"content": "one"}]
    response = await http.post("/v1/memories/batch", json={"agent_id": agent.id, "items": items})
    assert response.status_code == 201
    answer = response.json()
    assert [result["deduplicated"] for result in answer["results"]] == [False, False, True]
    assert (answer["created"], answer["deduplicated"], answer["linked"]) == (2, 1, True)


async def test_a_batch_with_one_wrong_item_names_it_and_stores_nothing(engram: AsyncEngram, agent: Agent) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        await engram.memories.create_many(agent.id, ["fine", {"content": "x", "valid_until": "2001-01-01"}])
    assert [error.field for error in caught.value.errors] == ["items.1.valid_until"]
    assert [memory async for memory in engram.memories.list(agent.id)] == []


async def test_a_batch_larger_than_a_body_read_at_once_is_stored(engram: AsyncEngram, agent: Agent) -> None:
    items = [MemoryItem(content=f"{number} " + "word " * 200) for number in range(100)]
    created = await engram.memories.create_many(agent.id, items)
    assert created.created == 100


async def test_a_deleted_memory_is_gone_but_listed_as_deleted(engram: AsyncEngram, agent: Agent) -> None:
    memory = await engram.memories.create(agent.id, "Bob keeps the books")
    deleted = await engram.memories.delete(memory.id)
    assert (deleted.id, deleted.status) == (memory.id, MemoryStatus.deleted)
    for gone in (engram.memories.get, engram.memories.delete):
        with pytest.raises(NotFoundError, match=memory.id):
            await gone(memory.id)
    assert [found.id async for found in engram.memories.list(agent.id)] == []
    assert [found.id async for found in engram.memories.list(agent.id, status="deleted")] == [memory.id]


async def test_a_list_has_the_latest_first_over_all_pages_and_counts_on_request(
    engram: AsyncEngram, agent: Agent
) -> None:
    written = [(await engram.memories.create(agent.id, f"memory {number}")).id for number in range(5)]
    assert [memory.id async for memory in engram.memories.list(agent.id, limit=2)] == written[::-1]
    page = await engram.memories.list(agent.id, limit=2, include_total=True)
    assert (len(page.data), page.total) == (2, 5)
    assert (await engram.memories.list(agent.id)).total is None


async def test_a_list_is_filtered_by_all_that_is_named(http: httpx.AsyncClient, agent: Agent) -> None:
    memories = {
        "both": {"tags": ["a", "b"], "user_id": "u1", "session_id": "s1"},
        "one": {"tags": ["a"], "user_id": "u1", "session_id": "s2"},
        "other": {"user_id": "u2"},
    }
    for content, fields in memories.items():
        await http.post("/v1/memories", json={"agent_id": agent.id, "content": content, **fields})

    async def listed(query: str) -> set[str]:
        response = await http.get(f"/v1/memories?agent_id={agent.id}&{query}")
        return {memory["content"] for memory in response.json()["data"]}

    assert await listed("") == {"both", "one", "other"}
    assert await listed("tag=a") == {"both", "one"}
    assert await listed("tag=a&tag=b") == {"both"}
    assert await listed("user_id=u1&session_id=s2") == {"one"}
    assert await listed("user_id=u2&tag=a") == set()
    assert await listed("status=superseded") == set()


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/batch"])
async def test_memories_of_an_unknown_agent_are_not_found_and_the_agent_is_not_made(
    http: httpx.AsyncClient, engram: AsyncEngram, path: str
) -> None:
    body = {"agent_id": str(uuid4())}
    body |= {"items": [{"content": "x"}]} if path.endswith("batch") else {"content": "x"}
    assert (await http.post(path, json=body)).status_code == 404
    assert (await http.get("/v1/memories", params={"agent_id": body["agent_id"]})).status_code == 404
    assert [agent async for agent in engram.agents.list()] == []


async def test_an_embedding_of_another_dimension_is_refused_by_name(http: httpx.AsyncClient, agent: Agent) -> None:
    response = await http.post("/v1/memories", json={"agent_id": agent.id, "content": "x", "embedding": [1.0, 2.0]})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "embedding"
    assert "2 dimensions" in response.json()["detail"]
