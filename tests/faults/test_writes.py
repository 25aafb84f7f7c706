"""Writes that are repeated, meet each other, or carry what breaks a later read."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import httpx

from engram import AsyncEngram
from engram.settings import Settings
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened


async def created(http: httpx.AsyncClient, name: str = "clerk") -> str:
    return (await http.post("/v1/agents", json={"name": name})).json()["id"]


async def test_a_request_sent_twice_is_done_once(http: httpx.AsyncClient) -> None:
    turn = {"agent_id": await created(http), "content": "Yes, please.", "session_id": "s", "user_id": "ada"}
    headers = {"Idempotency-Key": str(uuid4())}
    first, repeated = [await http.post("/v1/memories", json=turn, headers=headers) for _ in range(2)]
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert repeated.json() == first.json()
    without_key = await http.post("/v1/memories", json=turn)
    assert (without_key.status_code, without_key.json()["deduplicated"]) == (200, True)
    assert without_key.json()["id"] == first.json()["id"]
    stats = await http.get(f"/v1/agents/{turn['agent_id']}/stats")
    assert stats.json()["memories"] == 1


async def test_turns_that_are_appended_at_once_are_all_there_in_one_line(space: Space) -> None:
    turns = await asyncio.gather(*(space.remember(f"turn {at}", session_id="s") for at in range(30)))
    ids = {turn.id for turn in turns}
    assert len(ids) == 30
    # From the first to the last over the links in time: no turn is cut off, none has two successors.
    following = {}
    for id in ids:
        after = [edge.target_memory_id for edge in await space.edges(id, "temporal") if edge.direction == "out"]
        assert len(after) <= 1
        following.update({id: next(iter(after), None)})
    (at,) = ids - set(following.values())
    walked = [at]
    while (after := following[walked[-1]]) is not None:
        walked.append(after)
    assert set(walked) == ids


async def test_metadata_with_nulls_breaks_no_read(engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk", metadata={"k": None})
    metadata: dict[str, Any] = {"k": None, "": None, "list": [None, {"deep": None}]}
    memory = await engram.memories.create(agent.id, "Alice moved", metadata=metadata)
    assert (await engram.agents.get(agent.id)).metadata == {"k": None}
    assert (await engram.memories.get(memory.id)).metadata == metadata
    assert [found.metadata async for found in engram.memories.list(agent.id)] == [metadata]
    for filtered in (None, {"k": None}, {"": None}, {"k": {"exists": True}}, {"list": {"contains": None}}):
        answer = await engram.memories.recall(agent.id, "Alice", metadata=filtered)
        assert [hit.metadata for hit in answer] == [metadata], filtered


async def test_an_update_that_cannot_be_meant_is_refused_and_changes_nothing(http: httpx.AsyncClient) -> None:
    agent_id = await created(http)
    before = (await http.get(f"/v1/agents/{agent_id}")).json()
    for field, value in (
        *[("name", name) for name in ({}, [], None, "", "  ", 7, "a\x00b", "x" * 513)],
        *[("metadata", metadata) for metadata in (None, [], "{}", {"k": "a\x00b"})],
        *[("id", str(uuid4())), ("language", "german"), ("created_at", "2026-01-01")],
    ):
        response = await http.patch(f"/v1/agents/{agent_id}", json={field: value})
        assert response.status_code == 422, (field, value)
        assert [error["field"] for error in response.json()["errors"]] == [field], (field, value)
    assert (await http.get(f"/v1/agents/{agent_id}")).json() == before


async def test_every_change_moves_the_time_of_the_last_change(http: httpx.AsyncClient) -> None:
    agent_id = await created(http)
    last = (await http.get(f"/v1/agents/{agent_id}")).json()["updated_at"]
    for change in ({"name": "chief"}, {"metadata": {"k": 1}}, {"metadata": {}}):
        changed = (await http.patch(f"/v1/agents/{agent_id}", json=change)).json()["updated_at"]
        assert changed > last
        last = changed

    memory = (await http.post("/v1/memories", json={"agent_id": agent_id, "content": "x"})).json()
    await http.delete(f"/v1/memories/{memory['id']}")
    (gone,) = (await http.get(f"/v1/memories?agent_id={agent_id}&status=deleted")).json()["data"]
    assert gone["updated_at"] > memory["updated_at"]


async def test_a_batch_takes_one_call_of_the_embedder(settings: Settings) -> None:
    embedder = HashEmbedder()
    async with opened(settings, embedder) as services:
        space = await new_space(services)
        await space.remember_all(f"memory {at % 90}" for at in range(100))
        assert embedder.calls == 1
        await space.remember_all(f"memory {at}" for at in range(100))
        assert embedder.calls == 2


async def test_more_labels_than_a_statement_takes_parameters_are_written_in_one_batch(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(threshold=0.9999)) as services:
        space = await new_space(services)
        items = [
            # 32,767 parameters are the most that Postgres takes.
            {"content": f"number {at}", "tags": [f"{at} {tag}" for tag in range(34)], "entities": [f"zq{at} n"] * 34}
            for at in range(1000)
        ]
        written = await space.remember_all(items)
        assert (written.created, written.linked) == (1000, True)
        assert (await space.stats()).entities == 1000
