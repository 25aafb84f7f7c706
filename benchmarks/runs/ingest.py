"""(c) Writing in batches, embedding and all links included, beside a bare COPY of the same rows and vectors.

Both write to a copy of the store of their own, so to as large a table and as large an index, and take turns: batch by
batch at first, and then, in the stores that have grown by these, two batches at once, as loading does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

import asyncpg

from benchmarks.bench import Bench
from benchmarks.figures import Figure, Sheet, at_least
from benchmarks.loading import BATCH
from benchmarks.rows import copy_in, written
from benchmarks.store import Store
from benchmarks.timing import Times, concurrently
from engram.memories.schemas import MemoryBatch
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

CALLERS = 2
ROUND = 2 * CALLERS
"""Batches until it is the other's turn."""

Rows = list[asyncpg.Record]


def amount(memories: int) -> int:
    """How many memories are written to a store of that size."""
    return min(max(memories, 2_000), 10_000)


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("ingest")
    agent_id = (await bench.store.agent_ids())[0]
    first, count = bench.store.size.memories, amount(bench.store.size.memories)
    async with bench.stores.copy(bench.store) as copy, bench.stores.copy(bench.store) as other:
        items = list(copy.corpus.memories(first, 2 * count + BATCH))
        batches = [
            MemoryBatch.model_validate({"agent_id": agent_id, "items": items[place : place + BATCH]})
            for place in range(0, len(items), BATCH)
        ]
        alone = count // BATCH + 1
        async with copy.services() as services, copy.connection() as reading:
            await _in_turn(sheet, services, reading, other, batches[:alone])
            await _at_once(sheet, services, reading, other, batches[alone:])
    return sheet.figures


async def _in_turn(
    sheet: Sheet, services: Services, reading: asyncpg.Connection, other: Store, batches: Sequence[MemoryBatch]
) -> None:
    ours, bare, count = Times(), Times(), 0
    async with other.connection() as writing:
        for place, batch in enumerate(batches):
            if place == 1:  # the first batch warmed both up
                ours, bare, count = Times(), Times(), 0
            new = await ours.of(_created(services, batch))
            await bare.of(copy_in(writing, await written(reading, new)))
            count += len(new)
    beside = ("bare COPY", count / sum(bare.seconds))
    sheet.add(
        f"create_many, batches of {BATCH}", count / sum(ours.seconds), "memories/s", better="higher", beside=beside
    )


async def _at_once(
    sheet: Sheet, services: Services, reading: asyncpg.Connection, other: Store, batches: Sequence[MemoryBatch]
) -> None:
    ours = bare = 0.0
    count = 0
    async with AsyncExitStack() as stack:
        writing = [await stack.enter_async_context(other.connection()) for _ in range(CALLERS)]
        for place in range(0, len(batches), ROUND):
            part = batches[place : place + ROUND]
            new: list[str] = []

            async def create(_: int, number: int, part: Sequence[MemoryBatch] = part, new: list[str] = new) -> None:
                new.extend(await _created(services, part[number]))

            ours += (await concurrently(create, len(part), CALLERS))[1]
            rows = await written(reading, new)
            portions = [rows[first : first + BATCH] for first in range(0, len(rows), BATCH)]

            async def copy(caller: int, number: int, portions: list[Rows] = portions) -> None:
                await copy_in(writing[caller], portions[number])

            bare += (await concurrently(copy, len(portions), CALLERS))[1]
            count += len(rows)
    sheet.add(
        f"create_many, batches of {BATCH}, {CALLERS} callers",
        count / ours,
        "memories/s",
        better="higher",
        beside=("bare COPY", count / bare),
        target=at_least(1_000, of="value"),
    )


async def _created(services: Services, batch: MemoryBatch) -> list[str]:
    created = await services.memories.create_many(DEFAULT_SCOPE, batch)
    return [result.id for result in created.results if not result.deduplicated]
