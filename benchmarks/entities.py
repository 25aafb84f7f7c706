"""``python -m benchmarks entities``: what communities of a large entity graph cost, on the product's own tables."""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import numpy as np
import typer
import uvloop
from numpy.typing import NDArray
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Size
from benchmarks.store import Store, open_stores
from engram.agents.schemas import AgentCreate
from engram.cli.logs import quiet_logs
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE

TOPICS = 50
"""Entities of a topic, on the average."""

ELSEWHERE = 0.35
"""Share of the pairs of which one end is any entity, the common ones more often: Zipf has it, of exponent 1.1."""

AT_ONCE = 50_000

TICK_SECONDS = 0.01

IDLE_SECONDS = 10.0


def entities_command(
    data_dir: Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Where the Postgres is kept.")],
    entities: Annotated[int, typer.Option("--entities", min=1000, help="Entities of the agent.")] = 100_000,
    pairs: Annotated[int, typer.Option("--pairs", min=1000, help="Pairs of them that occur together.")] = 1_000_000,
) -> None:
    """Measure communities and exports of one agent's entity graph."""
    quiet_logs()
    figures = uvloop.run(_measured(data_dir, entities, pairs))
    table = Table("figure", "value")
    for name, value in figures.items():
        table.add_row(name, value)
    Console().print(table)


async def _measured(data_dir: Path, entities: int, pairs: int) -> dict[str, str]:
    async with open_stores(data_dir) as stores:
        empty = await stores.open(Size(memories=1))
        async with open_services(_settings(empty)):
            pass  # migrates it
        async with stores.copy(empty) as copy, open_services(_settings(copy)) as services:
            agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="zipf"))
            await _fill(copy, UUID(agent.id), entities, pairs)
            return {**await _communities(services, UUID(agent.id)), **await _exports(services, agent.id)}


def _settings(store: Store) -> Settings:
    return Settings(database_url=SecretStr(store.url), data_dir=store.data_dir, entity_communities=True)


async def _communities(services: Services, agent_id: UUID) -> dict[str, str]:
    idle = asyncio.create_task(_longest_pause())
    await asyncio.sleep(IDLE_SECONDS)
    idle.cancel()
    ticking = asyncio.create_task(_longest_pause())
    begun = time.perf_counter()
    placed = await services.communities.compute(DEFAULT_SCOPE, agent_id)
    seconds = time.perf_counter() - begun
    ticking.cancel()
    alone, pause = await idle, await ticking
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "communities, seconds": f"{seconds:.1f}",
        "entities in one": f"{placed:,}",
        "memory of the process that computes, MB": f"{megabytes:.0f}",
        "longest pause of the event loop, ms": f"{1000 * pause:.0f}, beside {1000 * alone:.0f} with nothing to do",
    }


async def _longest_pause() -> float:
    longest, last = 0.0, time.perf_counter()
    try:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.perf_counter()
            longest, last = max(longest, now - last - TICK_SECONDS), now
    except asyncio.CancelledError:
        return longest


async def _exports(services: Services, agent_id: str) -> dict[str, str]:
    figures = {}
    for format in ("graphml", "jsonld"):
        begun, size = time.perf_counter(), 0
        async for piece in services.graph_exports.export(DEFAULT_SCOPE, agent_id, format=format, whole=False):
            size += len(piece)
        figures[f"export as {format}"] = f"{time.perf_counter() - begun:.1f} s, {size / 2**20:.0f} MB"
    return figures


async def _fill(store: Store, agent_id: UUID, entities: int, pairs: int) -> None:
    """As rows: what is measured reads sums, however they came about."""
    async with store.connection() as connection:
        mine = "(SELECT id AS agent_id, tenant_id FROM agents WHERE id = $1) AS a"
        await connection.execute(
            "INSERT INTO entities (agent_id, tenant_id, id, name, display_name, opening)"
            f" SELECT a.*, lpad(to_hex(n), 32, '0')::uuid, 'entity ' || md5(n::text), 'Entity ' || n, 'entity'"
            f" FROM {mine}, generate_series(0, $2::int - 1) AS n",
            agent_id,
            entities,
        )
        found = _zipfian(entities, pairs)
        for begin in range(0, pairs, AT_ONCE):
            await connection.execute(
                "INSERT INTO entity_pairs (agent_id, tenant_id, first_id, second_id, co_occur)"
                " SELECT a.*, lpad(to_hex(p.near), 32, '0')::uuid, lpad(to_hex(p.far), 32, '0')::uuid, p.number"
                f" FROM {mine}, unnest($2::int[], $3::int[], $4::bigint[]) AS p (near, far, number)",
                agent_id,
                *(column[begin : begin + AT_ONCE].tolist() for column in found),
            )
        await connection.execute(
            """
            INSERT INTO entity_degrees (agent_id, tenant_id, entity_id, degree)
            SELECT $1, tenant_id, id, sum(co_occur) FROM (
                SELECT tenant_id, first_id AS id, co_occur FROM entity_pairs WHERE agent_id = $1
                UNION ALL SELECT tenant_id, second_id, co_occur FROM entity_pairs WHERE agent_id = $1
            ) AS ends GROUP BY tenant_id, id
            """,
            agent_id,
        )
        await connection.execute("ANALYZE")


def _zipfian(entities: int, wanted: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Pairs within topics and across, and how often each occurs."""
    random = np.random.default_rng(7)
    topics = entities // TOPICS
    popularity = 1 / np.arange(1, topics + 1) ** 0.7
    common = 1 / np.arange(1, entities + 1) ** 1.1
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    while len(keys) < wanted:
        topic = random.choice(topics, wanted, p=popularity / popularity.sum())
        # An entity's topic is its number's remainder; within one the first are the commonest.
        first = topic + topics * (TOPICS * random.random(wanted) ** 2).astype(np.int64)
        second = topic + topics * (TOPICS * random.random(wanted) ** 1.5).astype(np.int64)
        any_entity = random.choice(entities, wanted, p=common / common.sum())
        second = np.where(random.random(wanted) < ELSEWHERE, any_entity, second)
        apart = first != second
        near, far = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
        joined = np.concatenate([np.repeat(keys, counts), near * entities + far])
        keys, counts = np.unique(joined, return_counts=True)
    chosen = np.sort(random.choice(len(keys), wanted, replace=False))
    return keys[chosen] // entities, keys[chosen] % entities, counts[chosen]
