"""(c) Writing in batches, embedding and all links included, beside a bare COPY of the same rows and vectors.

Both write to a copy of the store of their own, so to as large a table and as large an index.
"""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.figures import Figure
from benchmarks.loading import BATCH
from benchmarks.rows import copy_in, written
from benchmarks.timing import Times
from engram.memories.schemas import MemoryBatch
from engram.tenants.scope import DEFAULT_SCOPE


def amount(memories: int) -> int:
    """How many memories are written to a store of that size."""
    return min(max(memories, 2_000), 10_000)


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("ingest")
    agent_id = (await bench.store.agent_ids())[0]
    ours, bare = Times(), Times()
    async with bench.stores.copy(bench.store) as copy, bench.stores.copy(bench.store) as other:
        first, count = bench.store.size.memories, amount(bench.store.size.memories)
        items = list(copy.corpus.memories(first, count + BATCH))
        async with copy.services() as services, copy.connection() as reading, other.connection() as writing:
            for place in range(0, len(items), BATCH):
                if place == BATCH:  # the first batch warmed both up
                    ours, bare = Times(), Times()
                raw = {"agent_id": agent_id, "items": items[place : place + BATCH]}
                batch = MemoryBatch.model_validate(raw)
                created = await ours.of(services.memories.create_many(DEFAULT_SCOPE, batch))
                new = [result.id for result in created.results if not result.deduplicated]
                rows = await written(reading, new)
                await bare.of(copy_in(writing, rows))
    beside = ("bare COPY", count / sum(bare.seconds))
    sheet.add(
        f"create_many, batches of {BATCH}", count / sum(ours.seconds), "memories/s", better="higher", beside=beside
    )
    return sheet.figures
