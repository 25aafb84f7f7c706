"""(d) Recall while batches are written without a pause, in one process, beside the bare query meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.bare import bare_search
from benchmarks.bench import Bench, vectors_of
from benchmarks.figures import Figure
from benchmarks.store import Store
from benchmarks.timing import alternate
from engram.memories.schemas import MemoryBatch
from engram.recall.schemas import RecallRequest
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

_BATCH = 100


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("while-writing")
    agent_id = (await bench.store.agent_ids())[0]
    questions = bench.asked(seed=31)
    async with (
        bench.stores.copy(bench.store) as copy,
        copy.services() as services,
        bare_search(copy) as search,
    ):
        vectors = await vectors_of(services.embedder, questions)
        indexed = search.index.serves(len(copy.numbers(0)))
        requests = [
            RecallRequest(agent_id=agent_id, query=question, embedding=vector.tolist())
            for question, vector in zip(questions, vectors, strict=True)
        ]
        jobs = {
            "bare": lambda number: search.nearest(agent_id, vectors[number], indexed=indexed),
            "recall": lambda number: services.recall.recall(DEFAULT_SCOPE, requests[number]),
        }
        await alternate(jobs, len(questions))
        idle = await alternate(jobs, len(questions))
        async with _writing(copy, services, agent_id) as rates:
            busy = await alternate(jobs, len(questions))
    sheet.latency("recall while writing", busy["recall"], beside=("bare query while writing", busy["bare"]))
    sheet.latency("recall, writing beside idle", busy["recall"], beside=("idle", idle["recall"]))
    sheet.add("written meanwhile", rates[0], "memories/s", better="higher")
    return sheet.figures


@asynccontextmanager
async def _writing(copy: Store, services: Services, agent_id: str) -> AsyncIterator[list[float]]:
    """Writes as long as the block runs; afterwards the list has how many memories a second were written."""
    rates: list[float] = []
    stopping = asyncio.Event()

    async def write() -> None:
        first = copy.size.memories
        started = time.perf_counter()
        while not stopping.is_set():
            items = list(copy.corpus.memories(first, _BATCH))
            batch = MemoryBatch.model_validate({"agent_id": agent_id, "items": items})
            await services.memories.create_many(DEFAULT_SCOPE, batch)
            first += _BATCH
        rates.append((first - copy.size.memories) / (time.perf_counter() - started))

    task = asyncio.create_task(write())
    try:
        yield rates
    finally:
        stopping.set()
        await task
