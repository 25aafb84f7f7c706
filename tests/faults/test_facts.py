"""What keeping facts has done to users elsewhere."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent

LIMIT = 120
"""Seconds, for what takes some: who waits for a lock for ever is found out."""


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def ask(http: httpx.AsyncClient, method: str, path: str, **body: Any) -> dict[str, Any]:
    response = await http.request(method, path, **({"params": body} if method == "GET" else {"json": body or None}))
    assert response.is_success, response.text
    return dict(response.json())


async def say(http: httpx.AsyncClient, agent_id: str, triple: str, **fields: Any) -> dict[str, Any]:
    """Append a fact that is given as ``subject|predicate|object``."""
    subject, predicate, object = triple.split("|")
    body = {"agent_id": agent_id, "subject": subject, "predicate": predicate, "object": object, **fields}
    return await ask(http, "POST", "/v1/facts", **body)


async def walked(http: httpx.AsyncClient, agent_id: str, query: str, **options: Any) -> list[str]:
    answer = await ask(
        http, "POST", "/v1/facts/recall-graph", **{"agent_id": agent_id, "query": query, "limit": 50, **options}
    )
    return [path["rendered"] for path in answer["paths"]]


async def listed(http: httpx.AsyncClient, agent_id: str, **wanted: Any) -> list[dict[str, Any]]:
    """The one that begins first first."""
    data = (await ask(http, "GET", "/v1/facts", agent_id=agent_id, limit=200, **wanted))["data"]
    return sorted(data, key=lambda fact: (fact["valid_from"], fact["recorded_at"]))


async def test_what_a_batch_says_several_times_ends_nothing_and_a_request_sent_again_adds_nothing(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    item = {"subject": "Alice", "predicate": "likes", "object": "tea"}
    items = [{**item, "sources": [f"chat {number}"]} for number in range(3)]
    for _ in range(2):
        answer = await http.post(
            "/v1/facts/batch", json={"agent_id": agent.id, "items": items}, headers={"Idempotency-Key": "once"}
        )
        assert (len(answer.json()["ids"]), answer.json()["closed"]) == (3, [])
    facts = await listed(http, agent.id)
    # Each tells who said so.
    assert [(fact["sources"], fact["valid_until"]) for fact in facts] == [([f"chat {n}"], None) for n in range(3)]


async def test_names_that_are_one_stay_apart_until_that_is_said_and_can_be_parted_again(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
) -> None:
    source = await engram.memories.create(agent.id, "The Big Apple hosts the summit.")
    await say(http, agent.id, "Ann|lives_in|NYC")
    await say(http, agent.id, "New York City|hosts|the summit", sources=[source.id])
    apart = await walked(http, agent.id, "ann")
    assert apart == ["ann —lives_in→ nyc"]
    merge = await ask(http, "POST", "/v1/facts/merge", agent_id=agent.id, name="NYC", other="New York City")
    known = merge["recorded_at"]
    joined = await ask(http, "POST", "/v1/facts/recall-graph", agent_id=agent.id, query="ann")
    assert [len(path["edges"]) for path in joined["paths"]] == [1, 2]
    # What was said, and by whom, is as it was.
    last = joined["paths"][1]["edges"][1]["fact"]
    assert (last["subject"], last["sources"]) == ("New York City", [source.id])
    assert [memory["id"] for memory in joined["memories"]] == [source.id]
    await ask(http, "DELETE", f"/v1/facts/merge/{merge['id']}")
    assert await walked(http, agent.id, "ann") == apart
    assert len(await walked(http, agent.id, "ann", known_at=known)) == 2


async def test_what_is_said_of_one_name_by_two_is_all_kept_with_who_said_it(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    said = {"Apple|makes|iOS": "a review", "apple|grows_on|trees": "a cookbook", "APPLE|makes|macOS": "a manual"}
    for triple, source in said.items():
        await say(http, agent.id, triple, sources=[source])
    facts = await listed(http, agent.id)
    told = {f"{fact['subject']}|{fact['predicate']}|{fact['object']}": fact["sources"][0] for fact in facts}
    assert told == said
    assert len(await walked(http, agent.id, "apple", hops=1)) == 3


async def test_what_contradicts_a_fact_is_stored_and_what_it_contradicts_is_told_too(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    loved = await say(http, agent.id, "I|feel about Chinese food|love")
    hated = await say(http, agent.id, "I|feel about Chinese food|hate")
    assert hated["closed"] == [loved["id"]]
    assert await walked(http, agent.id, "love hate") == ["hate ←feel_about_chinese_food— i"]
    facts = await listed(http, agent.id)
    assert [(fact["object"], fact["superseded_by"]) for fact in facts] == [("love", hated["id"]), ("hate", None)]
    assert facts[0]["valid_until"] == facts[1]["valid_from"]
    before = await walked(http, agent.id, "love hate", known_at=loved["recorded_at"])
    assert before == ["love ←feel_about_chinese_food— i"]


async def test_of_facts_appended_at_once_none_is_lost_and_one_stands(http: httpx.AsyncClient, agent: Agent) -> None:
    async with asyncio.timeout(LIMIT):
        made = await asyncio.gather(*(say(http, agent.id, f"Alice|works_at|employer {n}") for n in range(24)))
    facts = await listed(http, agent.id)
    assert {fact["id"] for fact in facts} == {fact["id"] for fact in made}
    held = [fact for fact in facts if fact["valid_until"] != fact["valid_from"]]
    assert [fact["valid_until"] is None for fact in held] == [False] * (len(held) - 1) + [True]
    assert all(one["valid_until"] == other["valid_from"] for one, other in pairwise(held))


async def test_a_fact_that_was_deleted_is_told_of_and_can_be_brought_back(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    fact = await say(http, agent.id, "Alice|works_at|Acme")
    await ask(http, "DELETE", f"/v1/facts/{fact['id']}")
    assert (await walked(http, agent.id, "alice"), await listed(http, agent.id)) == ([], [])
    assert await walked(http, agent.id, "alice", known_at=fact["recorded_at"]) == ["alice —works_at→ acme"]
    history = await ask(http, "GET", f"/v1/facts/{fact['id']}/history")
    assert [belief["status"] for belief in history["beliefs"]] == ["standing", "deleted"]
    await ask(http, "POST", f"/v1/facts/{fact['id']}/restore")
    assert await walked(http, agent.id, "alice") == ["alice —works_at→ acme"]


async def test_partitions_and_agents_that_hold_the_same_see_their_own_facts_alone_in_every_read(
    http: httpx.AsyncClient, engram: AsyncEngram
) -> None:
    """Of three users, of none, and of two agents: the same names, words and merges everywhere."""
    places = [
        (agent.id, user)
        for agent in [await engram.agents.create(name) for name in ("one", "two")]
        for user in (None, "u1", "u2")
    ]
    own: dict[tuple[str, str | None], set[str]] = {}
    for number, (agent_id, user) in enumerate(places):
        source = await engram.memories.create(agent_id, f"source {number}")
        own[agent_id, user] = {
            (await say(http, agent_id, triple, user_id=user, sources=[source.id]))["id"]
            for triple in ("Alice|works_at|Acme", "Acme Corp|operates_in|Austin", f"Alice|number|{number}")
        }
    await ask(http, "POST", "/v1/facts/merge", agent_id=places[0][0], name="Acme", other="Acme Corp")
    for number, (agent_id, user) in enumerate(places):
        scope = {} if user is None else {"user_id": user}
        assert {fact["id"] for fact in await listed(http, agent_id, **scope)} == own[agent_id, user]
        for subject in ("Alice", "Acme Corp"):
            assert {f["id"] for f in await listed(http, agent_id, subject=subject, **scope)} <= own[agent_id, user]
        answer = await ask(
            *(http, "POST", "/v1/facts/recall-graph"),
            **{"agent_id": agent_id, "query": "alice acme austin corp", "hops": 4, "limit": 200, **scope},
        )
        assert {e["fact"]["id"] for path in answer["paths"] for e in path["edges"]} == own[agent_id, user]
        assert [memory["content"] for memory in answer["memories"]] == [f"source {number}"]
        # The merge is of one agent.
        assert any(
            len(path["edges"]) == 2 and "austin" in path["nodes"] and "alice" in path["nodes"]
            for path in answer["paths"]
        ) == (agent_id == places[0][0])
        assert (await engram.agents.stats(agent_id)).facts == 9
        file = (await http.get(f"/v1/agents/{agent_id}/export", params={"include_embeddings": "false"})).text
        others = {id for (other, _), ids in own.items() if other != agent_id for id in ids}
        assert not [id for id in others if id in file]


async def test_batches_that_overlap_in_opposite_order_do_not_deadlock(http: httpx.AsyncClient, agent: Agent) -> None:
    """The same slots, names and sources, forward and backward, while facts of them are deleted and restored."""
    triples = [f"house {n}|owned_by|owner" for n in range(12)]
    first = [(await say(http, agent.id, triple))["id"] for triple in triples]

    async def append(writer: int) -> None:
        for at in range(6):
            items = []
            for triple in triples if writer % 2 else triples[::-1]:
                subject, predicate, object = triple.split("|")
                items.append({"subject": subject, "predicate": predicate, "object": f"{object} {writer} {at}"})
            await ask(http, "POST", "/v1/facts/batch", agent_id=agent.id, items=items)

    async def change(id: str) -> None:
        for _ in range(3):
            await ask(http, "POST", f"/v1/facts/{id}/undo")
            await ask(http, "POST", f"/v1/facts/{id}/restore")

    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*map(append, range(6)), *map(change, first[::4]))
    assert (await ask(http, "GET", f"/v1/agents/{agent.id}/stats"))["facts"] == len(triples)
