"""What walks and chains take beside the queries that they are made of, run bare."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any
from uuid import UUID

import asyncpg

from benchmarks.figures import Figure, Sheet, at_most
from benchmarks.store import Store
from benchmarks.timing import Times, alternate
from engram.db.database import driver
from engram.entities.graph.schemas import EntityPathRequest, TraverseRequest
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

Statement = tuple[str, Sequence[Any]]

_OF_THE_GRAPH = "front AS MATERIALIZED"


class Listener:
    """Keeps the statements of walks, with their values. The pool has one connection."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._heard: list[Statement] = []

    async def begin(self) -> None:
        async with self._services.database.snapshot() as connection:
            driver(connection).add_query_logger(self._hear)

    async def end(self) -> None:
        async with self._services.database.snapshot() as connection:
            driver(connection).remove_query_logger(self._hear)

    async def during(self, work: Awaitable[Any]) -> list[Statement]:
        self._heard.clear()
        await work
        # They are told of in the loop's next turn.
        await asyncio.sleep(0)
        return list(self._heard)

    def _hear(self, record: Any) -> None:
        if _OF_THE_GRAPH in record.query:
            self._heard.append((record.query, record.args))


async def measure(store: Store, services: Services, agent_id: UUID, questions: int) -> list[Figure]:
    sheet = Sheet("entity-walk", store.size)
    graph, chance = services.entity_graph, Random("entity-walk")

    def walk(seed: str, **fields: Any) -> Awaitable[Any]:
        return graph.traverse(DEFAULT_SCOPE, TraverseRequest(agent_id=str(agent_id), seed_entity=seed, **fields))

    async with store.connection() as connection:
        degrees = await connection.fetch(
            """
            SELECT e.name, d.degree FROM entity_degrees d JOIN entities e ON e.agent_id = $1 AND e.id = d.entity_id
            WHERE d.agent_id = $1 ORDER BY d.degree DESC, e.name
            """,
            agent_id,
        )
        names = [row["name"] for row in degrees]
        hub = names[0]
        seeds = [chance.choice(names) for _ in range(questions)]
        listener = Listener(services)
        await listener.begin()
        hops = [await listener.during(walk(seed)) for seed in seeds]
        hub_hops = await listener.during(walk(hub, max_hops=3))
        ends = [chance.sample(names, 2) for _ in range(questions)]
        await listener.end()

        def bare(statements: Callable[[int], list[Statement]]) -> Callable[[int], Awaitable[None]]:
            return lambda number: _run(connection, statements(number))

        jobs: dict[str, Callable[[int], Awaitable[Any]]] = {
            "walk": lambda number: walk(seeds[number]),
            "walk bare": bare(lambda number: hops[number]),
            "hop bare": bare(lambda number: hops[number][:1]),
            "path": lambda number: graph.path(
                DEFAULT_SCOPE,
                EntityPathRequest(agent_id=str(agent_id), source=ends[number][0], target=ends[number][1]),
            ),
            "related": lambda number: graph.related(
                DEFAULT_SCOPE, str(agent_id), seeds[number], as_of=None, min_co_occur=1, limit=50, cursor=None
            ),
        }
        await alternate(jobs, min(questions, 20))
        times = await alternate(jobs, questions)
        from_hub = await alternate(
            {"walk": lambda _: walk(hub, max_hops=3), "bare": bare(lambda _: hub_hops)}, max(5, questions // 10)
        )
        nodes = len((await walk(hub, max_hops=3, max_nodes=5000)).nodes)
    sheet.add("entities", len(names), "entities", better="higher")
    sheet.add("degree of the largest hub", degrees[0]["degree"], "observations", better="higher")
    sheet.latency("traverse", times["walk"], beside=("its hops bare", times["walk bare"]), p50=at_most(2))
    # Two hops, mostly: the first from one node, the second from as many as are kept.
    hop = Times(walked / len(hops[number]) for number, walked in enumerate(times["walk bare"].seconds))
    sheet.latency("path", times["path"], beside=("a hop of a walk, bare", hop), p50=at_most(3))
    # The cheapest hop there is, from one entity; told beside it, and no target: a chain hops from many as well.
    sheet.latency("path, again", times["path"], beside=("a first hop, bare", times["hop bare"]))
    sheet.latency("related", times["related"], beside=("a first hop, bare", times["hop bare"]))
    sheet.latency(
        "three hops from the hub", from_hub["walk"], beside=("its hops bare", from_hub["bare"]), p50=at_most(2)
    )
    sheet.add("nodes of three hops from the hub", nodes, "nodes", target=at_most(5000, of="value"))
    return sheet.figures


async def _run(connection: asyncpg.Connection, statements: list[Statement]) -> None:
    for statement, values in statements:
        await connection.fetch(statement, *values)
