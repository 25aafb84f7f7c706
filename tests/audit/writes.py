"""Every operation that changes something, done once, and the event that it has to leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from engram.db.database import driver
from engram.transfer.example import EMPTY_EXPORT
from engram.transfer.schemas import RECORDS
from tests.fixtures.servers import openapi


@dataclass(frozen=True)
class World:
    """An agent with two memories and an edge between them, and one memory that was deleted.

    Its facts say where the office was, which was superseded, and where it is; one more was deleted.
    """

    agent: str
    first: str
    second: str
    deleted: str
    dead: str
    """A job that was given up."""
    fact: str
    deleted_fact: str
    merge: str


@dataclass(frozen=True)
class Expected:
    action: str
    agent_id: str
    targets: list[str]
    details: dict[str, Any] = field(default_factory=dict)


Write = Callable[[httpx.AsyncClient, World], Awaitable[httpx.Response]]


async def make_world(client: httpx.AsyncClient) -> World:
    agent = (await client.post("/v1/agents", json={"name": "clerk"})).raise_for_status().json()["id"]
    texts = ("The office is in Lisbon.", "The lease ends in May.", "The rent was low.")
    items = [{"content": text} for text in texts]
    batch = (await client.post("/v1/memories/batch", json={"agent_id": agent, "items": items})).raise_for_status()
    first, second, deleted = (result["id"] for result in batch.json()["results"])
    (await client.delete(f"/v1/memories/{deleted}")).raise_for_status()
    edge = {"source_id": first, "target_id": second, "relation_type": "causal"}
    (await client.post("/v1/graph/edges", json=edge)).raise_for_status()
    facts = [{"subject": "The office", "predicate": "is_in", "object": city} for city in ("Faro", "Lisbon")]
    facts.append({"subject": "The rent", "predicate": "is", "object": "low"})
    stored = await client.post("/v1/facts/batch", json={"agent_id": agent, "items": facts})
    _, fact, deleted_fact = stored.raise_for_status().json()["ids"]
    (await client.delete(f"/v1/facts/{deleted_fact}")).raise_for_status()
    names = {"agent_id": agent, "name": "Lisbon", "other": "Lisboa"}
    merge = (await client.post("/v1/facts/merge", json=names)).raise_for_status().json()["id"]
    return World(agent, first, second, deleted, await _dead_job(client, agent), fact, deleted_fact, merge)


async def _dead_job(client: httpx.AsyncClient, agent: str) -> str:
    """Not asked for by a request: what a worker does leaves no event."""
    transport: Any = client._transport
    job = str(uuid4())
    async with transport.app.state.services.database.transaction() as connection:
        await driver(connection).execute(
            "INSERT INTO jobs (tenant_id, id, agent_id, kind, status, attempts) SELECT tenant_id, $1, id,"
            " 'rebuild_links', 'dead', 8 FROM agents WHERE id = $2",
            job,
            agent,
        )
    return job


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


async def set_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    value = {"agent_id": world.agent, "key": "office/floor", "content": "The office is on the fourth floor."}
    return await client.put("/v1/memories", json=value)


async def update_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.patch(f"/v1/memories/{world.first}", json={"tags": ["moved"], "content": "It is in Porto."})


async def supersede_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/memories/{world.first}/supersede", json={"content": "The office is in Porto."})


async def restore_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/memories/{world.deleted}/restore")


async def purge_memory(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/memories/{world.first}/purge")


async def delete_memories(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post("/v1/memories/delete", json={"agent_id": world.agent, "all": True})


async def create_edge(client: httpx.AsyncClient, world: World) -> httpx.Response:
    edge = {"source_id": world.second, "target_id": world.first, "relation_type": "supports"}
    return await client.post("/v1/graph/edges", json=edge)


async def create_edges(client: httpx.AsyncClient, world: World) -> httpx.Response:
    ends = {"source_id": world.second, "target_id": world.first}
    edges = [{**ends, "relation_type": relation} for relation in ("supports", "derived_from", "supports")]
    return await client.post("/v1/graph/edges/batch", json={"edges": edges})


async def delete_edge(client: httpx.AsyncClient, world: World) -> httpx.Response:
    edge = {"source_id": world.first, "target_id": world.second, "relation_type": "causal"}
    return await client.delete("/v1/graph/edges", params=edge)


async def append_fact(client: httpx.AsyncClient, world: World) -> httpx.Response:
    fact = {"subject": "The office", "predicate": "is_in", "object": "Porto"}
    return await client.post("/v1/facts", json={"agent_id": world.agent, **fact})


async def append_facts(client: httpx.AsyncClient, world: World) -> httpx.Response:
    items = [{"subject": "The office", "predicate": "is_in", "object": city} for city in ("Porto", "Braga")]
    return await client.post("/v1/facts/batch", json={"agent_id": world.agent, "items": items})


async def delete_fact(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.delete(f"/v1/facts/{world.fact}")


async def undo_fact(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/facts/{world.fact}/undo")


async def restore_fact(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/facts/{world.deleted_fact}/restore")


async def merge_names(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post("/v1/facts/merge", json={"agent_id": world.agent, "name": "Porto", "other": "Oporto"})


async def undo_merge(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.delete(f"/v1/facts/merge/{world.merge}")


async def rebuild_links(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/agents/{world.agent}/rebuild-links")


async def retry_job(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post(f"/v1/jobs/{world.dead}/retry")


async def retry_jobs(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post("/v1/jobs/retry", json={"agent_id": world.agent})


async def register_ontology(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.put(f"/v1/agents/{world.agent}/ontology", json={"verbs": {"is_in": "one", "is": "many"}})


async def expire_by_adapter(client: httpx.AsyncClient, world: World) -> httpx.Response:
    return await client.post("/v1/facts/expire-by-adapter", json={"agent_id": world.agent, "adapter_name": "declared"})


def expected(operation: str, world: World, answer: httpx.Response) -> Expected:
    """The one event of an operation that was answered so."""
    body = answer.json() if answer.content else {}
    match operation:
        case "create_agent":
            return Expected("agent.create", body["id"], [body["id"]], {"name": "cook"})
        case "update_agent":
            return Expected("agent.update", world.agent, [world.agent], {"fields": ["metadata", "name"]})
        case "register_ontology":
            return Expected("agent.ontology", world.agent, [world.agent], {"names": 2, "changed": 0})
        case "expire_by_adapter":
            details = {"adapter": "declared", "expired": 0, "changed": 0}
            return Expected("fact.expire", world.agent, [world.agent], details)
        case "delete_agent":
            return Expected("agent.delete", world.agent, [world.agent], {"name": "clerk"})
        case "import_agent":
            counts = dict.fromkeys(RECORDS, 0)
            return Expected("agent.import", body["id"], [body["id"]], {"name": "newcomer", **counts})
        case "create_memory":
            return Expected("memory.create", world.agent, [body["id"]])
        case "create_memories":
            new = sorted(result["id"] for result in body["results"] if not result["deduplicated"])
            return Expected("memory.create", world.agent, new)
        case "delete_memory":
            return Expected("memory.delete", world.agent, [world.first])
        case "set_memory":
            return Expected("memory.set", world.agent, [body["id"]])
        case "update_memory":
            return Expected("memory.update", world.agent, [world.first], {"fields": ["content", "tags"]})
        case "supersede_memory":
            return Expected("memory.supersede", world.agent, [body["id"], world.first])
        case "restore_memory":
            return Expected("memory.restore", world.agent, [world.deleted])
        case "purge_memory":
            counts = {name: count for name, count in body.items() if isinstance(count, int)}
            return Expected("memory.purge", world.agent, [world.first], counts)
        case "delete_memories":
            return Expected("memory.delete", world.agent, sorted([world.first, world.second]))
        case "create_edge":
            return Expected("edge.create", world.agent, [world.second, world.first], {"relation_type": "supports"})
        case "create_edges":
            return Expected("edge.create", world.agent, sorted([world.second, world.first]), {"edges": 2})
        case "rebuild_links":
            return Expected("agent.rebuild", world.agent, [body["id"]])
        case "retry_job" | "retry_jobs":
            return Expected("job.retry", world.agent, [world.dead])
        case "append_fact":
            return Expected("fact.append", world.agent, [body["id"]], {"closed": 1})
        case "append_facts":
            return Expected("fact.append", world.agent, sorted(body["ids"]), {"closed": 1})
        case "delete_fact":
            return Expected("fact.delete", world.agent, [world.fact], {"changed": 0})
        case "undo_fact":
            return Expected("fact.undo", world.agent, [world.fact], {"changed": 1})
        case "restore_fact":
            return Expected("fact.restore", world.agent, [world.deleted_fact], {"changed": 0})
        case "merge_names":
            return Expected("fact.merge", world.agent, [body["id"]])
        case "undo_merge":
            return Expected("fact.unmerge", world.agent, [world.merge])
        case "delete_edge":
            return Expected("edge.delete", world.agent, [world.first, world.second], {"relation_type": "causal"})
    raise AssertionError(f"what does {operation} leave in the audit log?")


WRITES: dict[str, Write] = {
    write.__name__: write
    for write in (
        *(create_agent, update_agent, delete_agent, import_agent),
        *(create_memory, create_memories, delete_memory, delete_memories),
        *(set_memory, update_memory, supersede_memory, restore_memory, purge_memory),
        *(create_edge, create_edges, delete_edge),
        *(append_fact, append_facts, delete_fact, undo_fact, restore_fact, merge_names, undo_merge),
        *(register_ontology, expire_by_adapter),
        *(rebuild_links, retry_job, retry_jobs),
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
