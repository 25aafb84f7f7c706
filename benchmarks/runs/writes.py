"""(c) Single writes, one after the other and 16 at once, beside as many bare COPYs of one row each."""

from __future__ import annotations

from contextlib import AsyncExitStack

import asyncpg

from benchmarks.across import FLAT
from benchmarks.bench import Bench
from benchmarks.figures import Figure
from benchmarks.rows import copy_in, written
from benchmarks.store import Store
from benchmarks.timing import Times, concurrently
from engram.memories.schemas import MemoryCreate
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

AT_ONCE = 16
_WRITES = 800
_ROUND = 200
"""Writes of one side before the other has its turn."""


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("writes")
    agent_id = (await bench.store.agent_ids())[0]
    async with AsyncExitStack() as stack:
        copy = await stack.enter_async_context(bench.stores.copy(bench.store))
        other = await stack.enter_async_context(bench.stores.copy(bench.store))
        services = await stack.enter_async_context(copy.services())
        reading = await stack.enter_async_context(copy.connection())
        writing = [await stack.enter_async_context(other.connection()) for _ in range(AT_ONCE)]
        first = bench.store.size.memories
        await _write(copy, agent_id, services, reading, writing, first, _ROUND)  # warms both up
        first += _ROUND
        ours, bare, _ = await _write(copy, agent_id, services, reading, writing[:1], first, _ROUND)
        first += _ROUND
        sheet.latency(FLAT.removesuffix(" p50"), ours, beside=("bare COPY of a row", bare))
        ours, bare, rates = await _write(copy, agent_id, services, reading, writing, first, _WRITES)
        sheet.latency(f"single write, {AT_ONCE} at once", ours, beside=("bare COPY of a row", bare))
        sheet.add(
            f"single writes, {AT_ONCE} at once", rates[0], "memories/s", better="higher", beside=("bare COPY", rates[1])
        )
    return sheet.figures


async def _write(
    copy: Store,
    agent_id: str,
    services: Services,
    reading: asyncpg.Connection,
    writing: list[asyncpg.Connection],
    first: int,
    count: int,
) -> tuple[Times, Times, tuple[float, float]]:
    """The times of ours and of the bare writes, and how many a second each made; as many at once as connections."""
    ours, bare = Times(), Times()
    seconds = [0.0, 0.0]
    for start in range(first, first + count, _ROUND):
        requests = [
            MemoryCreate.model_validate({"agent_id": agent_id, **item}) for item in copy.corpus.memories(start, _ROUND)
        ]
        ids: list[str] = []

        async def create(_: int, number: int, requests: list[MemoryCreate] = requests, ids: list[str] = ids) -> None:
            created = await services.memories.create(DEFAULT_SCOPE, requests[number])
            if not created.deduplicated:
                ids.append(created.id)

        times, took = await concurrently(create, len(requests), len(writing))
        ours.seconds += times.seconds
        seconds[0] += took
        rows = await written(reading, ids)

        async def copy_one(worker: int, number: int, rows: list[asyncpg.Record] = rows) -> None:
            await copy_in(writing[worker], [rows[number]])

        times, took = await concurrently(copy_one, len(rows), len(writing))
        bare.seconds += times.seconds
        seconds[1] += took
    return ours, bare, (len(ours.seconds) / seconds[0], len(bare.seconds) / seconds[1])
