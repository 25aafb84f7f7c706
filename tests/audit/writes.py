"""Every operation that changes something, done once, and the event that it has to leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from engram.transfer.example import EMPTY_EXPORT
from tests.fixtures.servers import openapi


@dataclass(frozen=True)
class World:
    """An agent with two memories and an edge between them."""

    agent: str
    first: str
    second: str


@dataclass(frozen=True)
class Expected:
    action: str
    agent_id: str
    targets: list[str]
    details: dict[str, Any] = field(default_factory=dict)


Write = Callable[[httpx.AsyncClient, World], Awaitable[httpx.Response]]


async def make_world(client: httpx.AsyncClient) -> World:
    agent = (await client.post("/v1/agents", json={"name": "clerk"})).raise_for_status().json()["id"]
    items = [{"content": "The office is in Lisbon."}, {"content": "The lease ends in May."}]
    batch = (await client.post("/v1/memories/batch", json={"agent_id": agent, "items": items})).raise_for_status()
    first, second = (result["id"] for result in batch.json()["results"])
    edge = {"source_id": first, "target_id": second, "relation_type": "causal"}
    (await client.post("/v1/graph/edges", json=edge)).raise_for_status()
    return World(agent, first, second)


async def create_agent(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post("/v1/agents", json={"name": "cook"})


async def update_agent(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.patch(f"/v1/agents/{world.agent}", json={"name": "chief", "metadata": {"floor": 4}})


async def delete_agent(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.delete(f"/v1/agents/{world.agent}")


async def import_agent(client: httpx.AsyncClient, world: World) -> httpx.Response:
    lines = {"content": EMPTY_EXPORT.encode(), "headers": {"content-type": "application/x-ndjson"}}
    return await client.post("/v1/agents/import", **lines)


async def create_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post("/v1/memories", json={"agent_id": world.agent, "content": "The rent is due."})


async def create_memories(client: httpx.AsyncClient, world: World) -> httpx.Response:
    items = [{"content": text} for text in ("The rent is due.", "The lease ends in May.", "Bob pays it.")]
    return await client.post("/v1/memories/batch", json={"agent_id": world.agent, "items": items})


async def delete_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.delete(f"/v1/memories/{world.first}")


async def create_edge(client: httpx.AsyncClient, world: World) -> httpx.Response:
    edge = {"source_id": world.second, "target_id": world.first, "relation_type": "supports"}
    return await client.post("/v1/graph/edges", json=edge)


async def delete_edge(client: httpx.AsyncClient, world: World) -> httpx.Response:
    edge = {"source_id": world.first, "target_id": world.second, "relation_type": "causal"}
    return await client.delete("/v1/graph/edges", params=edge)


def expected(operation: str, world: World, answer: httpx.Response) -> Expected:
    """The one event of an operation that was answered so."""
    body = answer.json() if answer.content else {}
    match operation:
        case "create_agent":
            return Expected("agent.create", body["id"], [body["id"]], {"name": "cook"})
        case "update_agent":
            return Expected("agent.update", world.agent, [world.agent], {"fields": ["metadata", "name"]})
        case "delete_agent":
            return Expected("agent.delete", world.agent, [world.agent], {"name": "clerk"})
        case "import_agent":
            counts = dict.fromkeys(("memory", "memory_version", "entity", "mention", "edge", "edge_version"), 0)
            return Expected("agent.import", body["id"], [body["id"]], {"name": "newcomer", **counts})
        case "create_memory":
            return Expected("memory.create", world.agent, [body["id"]])
        case "create_memories":
            new = sorted(result["id"] for result in body["results"] if not result["deduplicated"])
            return Expected("memory.create", world.agent, new)
        case "delete_memory":
            return Expected("memory.delete", world.agent, [world.first])
        case "create_edge":
            return Expected("edge.create", world.agent, [world.second, world.first], {"relation_type": "supports"})
        case "delete_edge":
            return Expected("edge.delete", world.agent, [world.first, world.second], {"relation_type": "causal"})
    raise AssertionError(f"what does {operation} leave in the audit log?")


WRITES: dict[str, Write] = {
    write.__name__: write
    for write in (
        *(create_agent, update_agent, delete_agent, import_agent, create_memory, create_memories, delete_memory),
        *(create_edge, delete_edge),
    )
}


def operations_that_write() -> set[str]:
    """The operations that are not open to who only reads, but for what is asked by GET."""
    return {
        operation["operationId"]
        for methods in openapi()["paths"].values()
        for method, operation in methods.items()
        if method != "get" and operation.get("x-engram-role") != "viewer"
    }
