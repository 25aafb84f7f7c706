"""Facts that name a memory which is purged: they lose the source, or go with it."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import Database, driver
from engram.facts.keys import word_key
from engram.services import Services

LIMIT = 120
"""Seconds, for what takes some: who waits for a lock for ever is found out."""


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def ask(http: httpx.AsyncClient, method: str, path: str, **body: Any) -> dict[str, Any]:
    response = await http.request(method, path, json=body or None)
    assert response.is_success, response.text
    return dict(response.json())


async def words_known(database: Database) -> set[str]:
    async with database.snapshot() as connection:
        return {str(row["word"]) for row in await driver(connection).fetch("SELECT word FROM fact_words")}


async def numbers(database: Database) -> dict[str, int]:
    tables = ("facts", "fact_closures", "fact_memories", "fact_words", "fact_slots")
    async with database.snapshot() as connection:
        return {table: await driver(connection).fetchval(f"SELECT count(*) FROM {table}") for table in tables}


async def test_a_fact_goes_with_the_last_memory_that_states_it_and_what_it_superseded_holds_again(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, database: Database
) -> None:
    first, second = [(await engram.memories.create(agent.id, text)).id for text in ("At Initech.", "Initech, still.")]
    home = {"agent_id": agent.id, "subject": "Alice", "predicate": "works_at"}
    acme = await ask(http, "POST", "/v1/facts", **home, object="Acme", valid_from="2023-01-01")
    initech = await ask(
        http, "POST", "/v1/facts", **home, object="Initech", valid_from="2024-01-01", sources=[first, second, "a chat"]
    )
    # Superseded itself, and by the other: what comes before it ends where the other begins.
    hooli = await ask(
        http, "POST", "/v1/facts", **home, object="Hooli Corporation", valid_from="2023-06-01", sources=[second]
    )
    assert (hooli["superseded_by"], hooli["closed"]) == (initech["id"], [acme["id"]])
    bare = await numbers(database)

    assert (await engram.memories.purge(first)).facts == 0
    kept = await ask(http, "GET", f"/v1/facts/{initech['id']}")
    assert kept["sources"] == [second, "a chat"]
    assert {**kept, "sources": None} == {**{k: v for k, v in initech.items() if k != "closed"}, "sources": None}

    known = (await ask(http, "GET", f"/v1/facts/{acme['id']}/history"))["beliefs"]
    assert (await engram.memories.purge(second)).facts == 2
    for id in (initech["id"], hooli["id"]):
        for path in (f"/v1/facts/{id}", f"/v1/facts/{id}/history"):
            assert (await http.get(path)).status_code == 404
    reopened = await ask(http, "GET", f"/v1/facts/{acme['id']}/history")
    assert (reopened["fact"]["valid_until"], reopened["fact"]["superseded_by"]) == (None, None)
    assert reopened["beliefs"][:-1] == known
    assert reopened["beliefs"][-1]["valid_until"] is None

    left = await words_known(database)
    assert {name for name in ("alice", "acme", "initech", "hooli") if str(word_key(None, name)) in left} == {
        *("alice", "acme"),
    }
    after = await numbers(database)
    assert (after["facts"], after["fact_memories"], bare["facts"]) == (1, 0, 3)
    assert after["fact_slots"] == 1
    found = await ask(http, "POST", "/v1/facts/recall-graph", agent_id=agent.id, query="alice acme initech hooli")
    assert {path["edges"][0]["fact"]["id"] for path in found["paths"]} == {acme["id"]}


async def test_of_what_a_memory_declares_no_trace_is_left_that_another_does_not_share(
    engram: AsyncEngram, agent: Agent, database: Database
) -> None:
    kept = await engram.memories.create(agent.id, "At Acme.", relations=[("Alice", "works_at", "Acme")])
    before = await numbers(database)
    relations = [("Alice", "works_at", "Initech"), ("Zelda", "lives_in", "Oslo")]
    gone = await engram.memories.create(agent.id, "Moved.", relations=relations)
    assert (await engram.memories.purge(gone.id)).statements == 2
    # What was believed of the other, and is again, is known to have changed.
    assert await numbers(database) == {**before, "fact_closures": 2}
    assert (await engram.memories.purge(kept.id)).statements == 1
    assert set((await numbers(database)).values()) == {0}


async def test_a_memory_that_states_thousands_of_facts_takes_them_all_along(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, database: Database
) -> None:
    memory = await engram.memories.create(agent.id, "A register of houses.")
    for street in range(3):
        items = [
            {
                "subject": f"house {street} {n % 700}",
                "predicate": "owned_by",
                "object": f"owner {n}",
                "sources": [memory.id],
            }
            for n in range(900)
        ]
        await ask(http, "POST", "/v1/facts/batch", agent_id=agent.id, items=items)
    assert (await engram.memories.purge(memory.id)).facts == 2700
    assert set((await numbers(database)).values()) == {0}


async def test_purges_and_appends_at_once_never_deadlock_and_leave_nothing(
    http: httpx.AsyncClient, engram: AsyncEngram, services: Services, agent: Agent, database: Database
) -> None:
    """Whatever comes first: a source that was erased by then is text, as any other."""
    memories = [(await engram.memories.create(agent.id, f"note {number}")).id for number in range(12)]

    async def append(writer: int) -> None:
        for at in range(10):
            items = [
                {
                    "subject": f"house {(writer + step) % 4}",
                    "predicate": "owned_by",
                    "object": f"owner {writer} {at}",
                    "sources": [memories[(writer + at + step) % 12], memories[(at * 5 + step) % 12]],
                }
                for step in range(4)
            ]
            await ask(http, "POST", "/v1/facts/batch", agent_id=agent.id, items=items)

    for id in memories[::3]:
        await engram.memories.delete(id)
    async with database.transaction() as connection:
        await driver(connection).execute("UPDATE memories SET deleted_at = '2020-01-01' WHERE status = 'deleted'")
    async with asyncio.timeout(LIMIT):
        expired, *_ = await asyncio.gather(
            services.changes.purges.purge_expired(),
            *(engram.memories.purge(id) for place, id in enumerate(memories) if place % 3),
            *map(append, range(8)),
        )
    assert expired == 4
    async with database.snapshot() as connection:
        assert await driver(connection).fetchval("SELECT count(*) FROM fact_memories") == 0
        facts = {row["id"] for row in await driver(connection).fetch("SELECT id FROM facts")}
        words = await driver(connection).fetchval("SELECT count(DISTINCT node) FROM fact_words")
        nodes = await driver(connection).fetchval(
            "SELECT count(*) FROM (SELECT subject_node FROM facts UNION SELECT object_node FROM facts) AS node"
        )
        dangling = await driver(connection).fetchval(
            "SELECT count(*) FROM facts WHERE superseded_by NOT IN (SELECT id FROM facts)"
        )
    assert (words, dangling) == (nodes, 0)
    # Of each house one owner stands, unless the last went with what stated it.
    open_ones = [
        fact
        for house in range(4)
        for fact in (await ask(http, "GET", f"/v1/facts?agent_id={agent.id}&subject=house {house}&limit=200"))["data"]
        if fact["valid_until"] is None
    ]
    assert len({fact["subject"] for fact in open_ones}) == len(open_ones) == (4 if facts else 0)


async def test_a_source_that_is_no_memory_is_text(http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent) -> None:
    memory = await engram.memories.create(agent.id, "gone by then")
    await engram.memories.purge(memory.id)
    fact = await ask(
        *(http, "POST", "/v1/facts"),
        **{"agent_id": agent.id, "subject": "Alice", "predicate": "likes", "object": "tea"},
        sources=[memory.id, str(uuid4()), "a chat"],
    )
    assert len(fact["sources"]) == 3
    assert fact["sources"][0] == memory.id
