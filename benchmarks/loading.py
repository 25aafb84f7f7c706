"""Filling a store through ``create_many``: what is loaded is kept, and how fast it went is a measurement."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from typing import Any

import asyncpg

from benchmarks.figures import Figure, Sheet
from benchmarks.store import Store
from engram.agents.schemas import AgentCreate
from engram.memories.schemas import MemoryBatch
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

BLOCK = 10_000
BATCH = 500

_LEDGER = """
    CREATE SCHEMA IF NOT EXISTS benchmark;
    CREATE TABLE IF NOT EXISTS benchmark.corpus (digest text NOT NULL);
    CREATE TABLE IF NOT EXISTS benchmark.blocks (first bigint PRIMARY KEY, memories bigint NOT NULL);
"""

Work = tuple[str, list[dict[str, Any]]]


class OtherCorpusError(Exception):
    """The store was made by another generator."""


async def load(store: Store, *, callers: int = 2, said: Callable[[str], None] = lambda _: None) -> list[Figure]:
    """Write what is missing, ``callers`` batches at once; memories/s of each block of 10,000 that was written.

    Making the corpus is not timed; validating it is, as a server does it. An interrupted load goes on at its last
    block. Raises OtherCorpusError where the store holds another corpus.
    """
    sheet = Sheet("load", store.size)
    async with store.services() as services, store.connection() as connection:
        loaded = await _loaded(connection, _digest(store))
        if loaded >= store.size.memories:
            return []
        agents = await _agents(services, store)
        await _rehearse(services)
        took = 0.0
        for first in range(loaded, store.size.memories, BLOCK):
            last = min(first + BLOCK, store.size.memories)
            seconds = await _write(services, _batches(store, agents, first, last), callers)
            took += seconds
            await connection.execute("INSERT INTO benchmark.blocks VALUES ($1, $2)", first, last - first)
            rate = (last - first) / seconds
            said(f"{last:,} of {store.size.memories:,} memories, {rate:,.0f}/s")
            sheet.add(f"create_many from {first:,}", rate, "memories/s", better="higher")
        whole = (store.size.memories - loaded) / took
        sheet.add(f"create_many, {callers} callers", whole, "memories/s", better="higher")
        # As autovacuum would have it, sooner or later: figures must not depend on when.
        await connection.execute("VACUUM (ANALYZE)")
    return sheet.figures


def _batches(store: Store, agents: list[str], first: int, last: int) -> list[Work]:
    """The memories from ``first`` to ``last``, by agent, at most ``BATCH`` together."""
    found: list[Work] = []
    items = list(store.corpus.memories(first, last - first))
    agent = next(place for place in range(store.size.agents) if store.numbers(place).stop > first)
    while first < last:
        end = min(first + BATCH, last, store.numbers(agent).stop)
        found.append((agents[agent], items[: end - first]))
        items = items[end - first :]
        first = end
        if end == store.numbers(agent).stop:
            agent += 1
    return found


async def _write(services: Services, batches: list[Work], callers: int) -> float:
    pending = iter(batches)

    async def call() -> None:
        for agent_id, items in pending:
            batch = MemoryBatch.model_validate({"agent_id": agent_id, "items": items})
            await services.memories.create_many(DEFAULT_SCOPE, batch)

    started = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(callers)))
    return time.perf_counter() - started


async def _loaded(connection: asyncpg.Connection, digest: str) -> int:
    await connection.execute(_LEDGER)
    known = await connection.fetchval("SELECT digest FROM benchmark.corpus")
    if known is None:
        await connection.execute("INSERT INTO benchmark.corpus VALUES ($1)", digest)
    elif known != digest:
        raise OtherCorpusError("The store was made by another generator: choose another folder, or delete this one.")
    found: int = await connection.fetchval("SELECT coalesce(sum(memories), 0)::bigint FROM benchmark.blocks")
    return found


def _digest(store: Store) -> str:
    return hashlib.sha256(repr(list(store.corpus.memories(0, 50))).encode()).hexdigest()


async def _agents(services: Services, store: Store) -> list[str]:
    names = [store.agent_name(agent) for agent in range(store.size.agents)]
    return [(await services.agents.create(DEFAULT_SCOPE, AgentCreate(name=name)))[0].id for name in names]


async def _rehearse(services: Services) -> None:
    """Have loaded what a server loads with its first memory; the agent is erased again."""
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="rehearsal"))
    batch = MemoryBatch.model_validate({"agent_id": agent.id, "items": [{"content": "The first of many memories"}]})
    await services.memories.create_many(DEFAULT_SCOPE, batch)
    await services.agents.delete(DEFAULT_SCOPE, agent.id)
