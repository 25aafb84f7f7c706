"""(d) Recall while batches are written without a pause, in one process, beside the bare query meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

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
        written = _Written(copy.size.memories)
        requests = [
            RecallRequest(agent_id=agent_id, query=question, embedding=vector.tolist())
            for question, vector in zip(questions, vectors, strict=True)
        ]
        jobs = {
            "bare": lambda number: search.nearest(
                agent_id, vectors[number], indexed=search.index.serves(written.memories, written.memories)
            ),
            "recall": lambda number: services.recall.recall(DEFAULT_SCOPE, requests[number]),
        }
        await alternate(jobs, len(questions))
        idle = await alternate(jobs, len(questions))
        async with _writing(copy, services, agent_id, written):
            busy = await alternate(jobs, len(questions))
    sheet.latency("recall while writing", busy["recall"], beside=("bare query while writing", busy["bare"]))
    sheet.latency("recall, writing beside idle", busy["recall"], beside=("idle", idle["recall"]))
    rate = (written.memories - bench.store.size.memories) / written.seconds
    sheet.add("written meanwhile", rate, "memories/s", better="higher")
    return sheet.figures


@dataclass(slots=True)
class _Written:
    """How many memories the agent holds, and how long writing went on."""

    memories: int
    seconds: float = 0.0


@asynccontextmanager
async def _writing(copy: Store, services: Services, agent_id: str, written: _Written) -> AsyncIterator[None]:
    """Writes as long as the block runs."""
    stopping = asyncio.Event()

    async def write() -> None:
        started = time.perf_counter()
        while not stopping.is_set():
            items = list(copy.corpus.memories(written.memories, _BATCH))
            batch = MemoryBatch.model_validate({"agent_id": agent_id, "items": items})
            await services.memories.create_many(DEFAULT_SCOPE, batch)
            written.memories += _BATCH
            written.seconds = time.perf_counter() - started

    task = asyncio.create_task(write())
    try:
        yield
    finally:
        stopping.set()
        await task
