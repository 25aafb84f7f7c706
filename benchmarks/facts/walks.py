"""Loading hundreds of thousands of facts into one agent, and walks of two hops, from common nodes and from a hub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from benchmarks.facts import beside
from benchmarks.facts.client import BATCH, Client, connected
from benchmarks.facts.sets import Numbered, numbered_facts
from benchmarks.facts.statement import ByHand
from benchmarks.figures import Figure, Sheet, Size, at_least, at_most
from benchmarks.serving import Server, serving
from benchmarks.store import Store, Stores
from benchmarks.timing import Job, Times, alternate
from engram.agents.schemas import AgentCreate
from engram.facts.keys import node_key
from engram.facts.names import node_name
from engram.facts.schemas import FactBatch, GraphQuestion
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

LIMITS = (10, 200)
_STARTS = 100
_HUB_WALKS = 300


async def measure(stores: Stores, folder: Path, said: Callable[[str], None]) -> list[Figure]:
    facts = await asyncio.to_thread(numbered_facts, folder)
    sheet = Sheet("facts-walk", size := Size(facts=len(facts.items)))
    async with stores.fresh(size) as store, store.services() as services:
        said(f"loading {len(facts.items):,} facts in process")
        agent_id = await _load(sheet, services, facts)
        async with store.connection() as connection:
            # As autovacuum would have it, sooner or later: figures must not depend on when.
            await connection.execute("VACUUM (ANALYZE)")
        starts = Random("walks").sample(facts.of_median_degree(), _STARTS)
        async with serving(store) as server, connected(server.url, "over HTTP") as other:
            client = other.of(agent_id)
            for limit in LIMITS:
                said(f"walks from {len(starts)} nodes of median degree, limit {limit}")
                await _walks(sheet, store, services, client, starts, limit)
            said("walks from the hub")
            await _hub(sheet, server, client, facts)
            said(f"loading {len(facts.items):,} facts over HTTP")
            sheet.add("loaded over HTTP, one caller", await other.load(facts.items), "facts/s", better="higher")
    said("networkx")
    _beside(sheet, await asyncio.to_thread(beside.run, folder, starts, LIMITS[-1]))
    return sheet.figures


async def _load(sheet: Sheet, services: Services, facts: Numbered) -> str:
    """Batches one after the other, checked as a server checks them."""
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="in process"))
    started = time.perf_counter()
    for first in range(0, len(facts.items), BATCH):
        batch = FactBatch.model_validate({"agent_id": agent.id, "items": facts.items[first : first + BATCH]})
        await services.facts.append_many(DEFAULT_SCOPE, batch)
    seconds = time.perf_counter() - started
    rate = len(facts.items) / seconds
    sheet.add("append_many, one caller", rate, "facts/s", better="higher", target=at_least(5000, of="value"))
    sheet.add("append_many, all of them", seconds, "s")
    return agent.id


async def _walks(sheet: Sheet, store: Store, services: Services, client: Client, starts: list[str], limit: int) -> None:
    """Ours finds the node by a word of its name, and gives paths with all that is known of their facts."""
    words = [start.rpartition(" ")[2] for start in starts]
    nodes = [node_key(None, node_name(start)) for start in starts]
    async with store.connection() as connection:
        hand = await ByHand.prepared(connection, client.agent_id)

        async def ours(number: int) -> list[str]:
            question = GraphQuestion(agent_id=client.agent_id, query=words[number], hops=2, limit=limit)
            answer = await services.facts.answer(DEFAULT_SCOPE, question)
            return [edge.fact.id for path in answer.paths for edge in path.edges]

        jobs: dict[str, Job] = {
            "ours": ours,
            "all": lambda number: hand.walk("all", nodes[number], limit),
            "first": lambda number: hand.walk("first", nodes[number], limit),
            "http": lambda number: client.recall_graph(words[number], hops=2, limit=limit),
        }
        for number, node in enumerate(nodes):
            for statement in ("all", "first"):
                rows = await hand.walk(statement, node, limit)
                ids = [str(id) for row in rows for id in (row["id1"], row["id2"]) if id is not None]
                assert ids == await ours(number), f"the statement gives other paths from {starts[number]}"
        await alternate(jobs, len(starts))
        times = await alternate(jobs, len(starts))
    name = f"two hops, limit {limit}"
    sheet.latency(name, times["ours"], beside=("one statement", times["all"]), p50=at_most(1.5))
    sheet.latency(f"the same, limit {limit}", times["ours"], beside=("one that stops at the limit", times["first"]))
    sheet.latency(f"{name}, through HTTP", times["http"], beside=("in process", times["ours"]))


async def _hub(sheet: Sheet, server: Server, client: Client, facts: Numbered) -> None:
    hub, degree = facts.hub()
    query = hub.rpartition(" ")[2]
    sheet.add("facts that name the hub", degree, "facts")
    for limit in LIMITS:
        times = Times()
        answer = await client.recall_graph(query, hops=2, limit=limit)
        sheet.add(
            f"hub, limit {limit}: paths",
            len(answer["paths"]),
            "paths",
            target=at_most(limit, of="value"),
            better="higher",
        )
        sheet.add(f"hub, limit {limit}: truncated", float(answer["truncated"]), "", target=at_least(1, of="value"))
        warm = server.resident_mb
        for _ in range(_HUB_WALKS):
            await times.of(client.recall_graph(query, hops=2, limit=limit))
        sheet.latency(f"hub, limit {limit}, through HTTP", times)
        grown = server.resident_mb - warm
        name = f"hub, limit {limit}: server memory, more after {_HUB_WALKS} walks"
        sheet.add(name, grown, "MB", target=at_most(32, of="value"))


def _beside(sheet: Sheet, found: beside.Beside) -> None:
    sheet.add("networkx: loading", found.loading_seconds, "s")
    sheet.add("networkx: memory of the process that holds it", found.resident_mb, "MB")
    sheet.latency(f"networkx: two hops, limit {LIMITS[-1]}", Times(found.walk_seconds))
