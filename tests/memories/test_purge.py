"""A memory that was purged is nowhere: in no row, no answer, no line of the log, no measurement."""

from __future__ import annotations

from typing import Any

import asyncpg
import httpx
import pytest
import structlog

from engram import AsyncEngram
from engram.agents.schemas import Agent

WORDS = {
    name: f"zq{name}mark"
    for name in (
        *("content", "before", "tag", "oldtag", "metafield", "metavalue", "key", "source", "entity", "spelling"),
        *("proposed", "reason", "label", "dead", "subject", "predicate", "object", "undone", "user"),
    )
}
"""Each stands in one place of what is purged, and nowhere else."""


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def found_in(database_url: str) -> dict[str, set[str]]:
    """The tables in which each of the words stands, in text or in bytes."""
    connection = await asyncpg.connect(database_url)
    tables = await connection.fetch(
        """
        SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
        """
    )
    found: dict[str, set[str]] = {word: set() for word in WORDS.values()}
    for (table,) in tables:
        for (row,) in await connection.fetch(f"SELECT t::text FROM {table} t"):
            for word, places in found.items():
                if word in row.casefold() or word.encode().hex() in row:
                    places.add(table)
    await connection.close()
    return found


async def written(http: httpx.AsyncClient, agent: Agent) -> str:
    """A memory with a life behind it, whose every write was answered under a key; its id."""
    number = 0

    async def ask(method: str, path: str, **body: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        headers = {"Idempotency-Key": f"k-{number}"}
        return dict((await http.request(method, path, json=body or None, headers=headers)).raise_for_status().json())

    w = WORDS
    other = await ask("POST", "/v1/memories", agent_id=agent.id, content="Harbours close.", entities=["Harbour"])
    memory = await ask(
        *("PUT", "/v1/memories"),
        agent_id=agent.id,
        key=f"{w['key']}/owner",
        content=f"The {w['before']} was said by Captain {w['proposed'].title()}.",
        tags=[w["oldtag"]],
        metadata={w["metafield"]: {"deep": [w["metavalue"]]}},
        source=w["source"],
        entities=[{"name": f"{w['entity'].title()} Lighthouse", "role": "subject"}, "Harbour"],
        session_id="s",
    )
    path = f"/v1/memories/{memory['id']}"
    await ask("PATCH", path, content=f"The {w['content']} is said. " * 200, tags=[w["tag"]])
    await ask("PATCH", path, entities=[f"{w['spelling'].upper()}", "Harbour"])
    edge = {"source_id": memory["id"], "target_id": other["id"]}
    for reason in (w["reason"], w["dead"]):
        await ask("POST", "/v1/graph/edges", **edge, relation_type="causal", reason=reason, label=w["label"])
    fact = {"agent_id": agent.id, "subject": f"the {w['subject']}", "predicate": w["predicate"]}
    for object in (w["object"], w["undone"]):
        stated = await ask("POST", "/v1/facts", **fact, object=object, sources=[memory["id"].upper(), "a chat"])
    await ask("POST", f"/v1/facts/{stated['id']}/undo")
    item = {"subject": "A", "predicate": w["predicate"], "object": "B", "user_id": w["user"]}
    await ask("POST", "/v1/facts/batch", agent_id=agent.id, items=[{**item, "sources": [memory["id"]]}])
    await ask("DELETE", path)
    await ask("POST", f"{path}/restore")
    return str(memory["id"])


@pytest.mark.parametrize("deleted", [False, True], ids=["that stands", "that was deleted"])
async def test_nothing_is_left_of_a_memory(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, database_url: str, deleted: bool
) -> None:
    with structlog.testing.capture_logs() as logs:
        id = await written(http, agent)
        assert {word for word, tables in (await found_in(database_url)).items() if not tables} == set()
        if deleted:
            await engram.memories.delete(id)
        receipt = await engram.memories.purge(id)
    assert receipt.versions >= 4
    assert receipt.edges >= 2
    assert receipt.answers >= 6
    assert receipt.facts == 3
    assert {word: tables for word, tables in (await found_in(database_url)).items() if tables} == {}

    left = [str(logs), (await http.get("/metrics")).text]
    for path, asked in (
        ("/v1/audit", {"limit": "200"}),
        ("/v1/memories", {"agent_id": agent.id, "status": "current"}),
        ("/v1/memories", {"agent_id": agent.id, "status": "deleted"}),
        (f"/v1/agents/{agent.id}/export", {"include_embeddings": "false"}),
    ):
        left.append((await http.get(path, params=asked)).raise_for_status().text)
    told = "".join(left).casefold()
    assert [word for word in WORDS.values() if word in told] == []

    for path in (f"/v1/memories/{id}", f"/v1/memories/{id}/history"):
        assert (await http.get(path)).status_code == 404
    (hit,) = await engram.memories.recall(agent.id, f"{WORDS['content']} Harbour", known_at=receipt.purged_at)
    assert hit.content == "Harbours close."
    assert [edge async for edge in engram.graph.get_edges(hit.id)] == []
