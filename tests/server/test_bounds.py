"""Everything that a request may hold has a bound, and what is beyond it is named."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from engram.agents.schemas import Agent
from engram.http.routing import MAX_QUERY_BYTES
from engram.memories.filters import MAX_CHOICES, MAX_CONDITIONS
from engram.memories.schemas import MAX_BATCH, MAX_ENTITIES, MAX_TAGS
from engram.paging import MAX_CURSOR_CHARS, MAX_LIMIT
from engram.wire import (
    MAX_CONTENT_CHARS,
    MAX_METADATA_CHARS,
    MAX_METADATA_DEPTH,
    MAX_METADATA_KEYS,
    MAX_QUERY_CHARS,
)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"k": value}
    return value


def keys(count: int) -> dict[str, int]:
    return {str(number): number for number in range(count)}


MEMORY: dict[str, tuple[Any, Any]] = {
    "content": ("x " * (MAX_CONTENT_CHARS // 2), "x" * (MAX_CONTENT_CHARS + 1)),
    "user_id": ("x" * 256, "x" * 257),
    "session_id": ("x" * 256, "x" * 257),
    "source": ("x" * 256, "x" * 257),
    "tags": ([str(n) for n in range(MAX_TAGS)], [str(n) for n in range(MAX_TAGS + 1)]),
    "tags.0": (["x" * 256], ["x" * 257]),
    "entities": ([f"E {n}" for n in range(MAX_ENTITIES)], [f"E {n}" for n in range(MAX_ENTITIES + 1)]),
    "entities.0.name": (["x" * 512], ["x" * 513]),
    "metadata": (nested(MAX_METADATA_DEPTH), nested(MAX_METADATA_DEPTH + 1)),
    "metadata ": (keys(MAX_METADATA_KEYS), keys(MAX_METADATA_KEYS + 1)),
    "metadata  ": ({"k": "x" * (MAX_METADATA_CHARS - 10)}, {"k": "x" * MAX_METADATA_CHARS}),
    "metadata   ": ({"k": [keys(300)] * 3}, {"k": [keys(300)] * 4}),
    "embedding": (None, [0.1] * 16_001),
}

RECALL: dict[str, tuple[Any, Any]] = {
    "query": ("x" * MAX_QUERY_CHARS, "x" * (MAX_QUERY_CHARS + 1)),
    "top_k": (200, 201),
    "max_hops": (5, 6),
    "user_id": ("x" * 256, "x" * 257),
    "tags.any": ({"any": ["x"] * 64}, {"any": ["x"] * 65}),
    "tags.all": ({"all": ["x"] * 64}, {"all": ["x"] * 65}),
    "relation_types": (["causal"] * 8, ["causal"] * 9),
    "metadata": (keys(MAX_CONDITIONS), keys(MAX_CONDITIONS + 1)),
    "metadata ": ({"k": {"in": list(range(MAX_CHOICES))}}, {"k": {"in": list(range(MAX_CHOICES + 1))}}),
    "metadata  ": ({"k": {"eq": nested(10)}}, {"k": {"eq": nested(MAX_METADATA_DEPTH)}}),
    "embedding": (None, [0.1] * 16_001),
}


async def assert_bounded(http: httpx.AsyncClient, path: str, body: dict[str, Any], field: str, values: Any) -> None:
    within, beyond = values
    name = field.strip().partition(".")[0]
    response = await http.post(path, json={**body, name: within})
    assert response.is_success, response.text[:300]
    response = await http.post(path, json={**body, name: beyond})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == [field.strip()]


@pytest.mark.parametrize("field", MEMORY)
async def test_of_a_memory(http: httpx.AsyncClient, agent: Agent, field: str) -> None:
    body = {"agent_id": agent.id, "content": "x"}
    await assert_bounded(http, "/v1/memories", body, field, MEMORY[field])


@pytest.mark.parametrize("field", RECALL)
async def test_of_a_recall(http: httpx.AsyncClient, agent: Agent, field: str) -> None:
    body = {"agent_id": agent.id, "query": "x"}
    await assert_bounded(http, "/v1/memories/recall", body, field, RECALL[field])


async def test_of_a_batch(http: httpx.AsyncClient, agent: Agent) -> None:
    body = {"agent_id": agent.id}
    values = [{"content": "x"}] * MAX_BATCH, [{"content": "x"}] * (MAX_BATCH + 1)
    await assert_bounded(http, "/v1/memories/batch", body, "items", values)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", ("x" * 512, "x" * 513)),
        ("metadata", (keys(MAX_METADATA_KEYS), keys(MAX_METADATA_KEYS + 1))),
        ("language", ("english", "x" * 33)),
    ],
    ids=["name", "metadata", "language"],
)
async def test_of_an_agent(http: httpx.AsyncClient, field: str, values: tuple[Any, Any]) -> None:
    await assert_bounded(http, "/v1/agents", {"name": "x"}, field, values)


async def test_of_a_change_of_an_agent(http: httpx.AsyncClient, agent: Agent) -> None:
    for name, value in (("metadata", keys(MAX_METADATA_KEYS + 1)), ("name", "x" * 513)):
        response = await http.patch(f"/v1/agents/{agent.id}", json={name: value})
        assert (response.status_code, response.json()["errors"][0]["field"]) == (422, name)


async def test_of_an_edge(http: httpx.AsyncClient) -> None:
    body = {"source_id": str(uuid4()), "target_id": str(uuid4()), "relation_type": "causal"}
    for name, value in (("label", "x" * 257), ("reason", "x" * 4001)):
        response = await http.post("/v1/graph/edges", json={**body, name: value})
        assert (response.status_code, response.json()["errors"][0]["field"]) == (422, name)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (f"limit={MAX_LIMIT + 1}", "limit"),
        ("cursor=" + "A" * (MAX_CURSOR_CHARS + 1), "cursor"),
        ("name=" + "x" * 513, "name"),
        ("name=" + "x" * MAX_QUERY_BYTES, "query string"),
        ("&".join(["x"] * (MAX_QUERY_BYTES // 2 + 1)), "query string"),
        ("&" * (MAX_QUERY_BYTES + 1), "query string"),
    ],
    ids=["limit", "cursor", "name", "bytes", "parameters", "separators"],
)
async def test_of_a_query_string(http: httpx.AsyncClient, query: str, field: str) -> None:
    response = await http.get(f"/v1/agents?{query}")
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == [field]


async def test_of_a_query_string_of_a_write(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/memories?" + "x" * (MAX_QUERY_BYTES + 1), json={})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "query string")


async def test_metadata_that_were_stored_when_there_was_no_bound_are_read(
    http: httpx.AsyncClient, agent: Agent, services: Any, database_url: str
) -> None:
    import asyncpg

    created = (await http.post("/v1/memories", json={"agent_id": agent.id, "content": "x"})).json()
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "UPDATE memories SET metadata = (SELECT jsonb_object_agg(n, n) FROM generate_series(1, $1) n)",
        MAX_METADATA_KEYS + 1,
    )
    await connection.close()
    response = await http.get(f"/v1/memories/{created['id']}")
    assert len(response.json()["metadata"]) == MAX_METADATA_KEYS + 1
