"""Beside what an engineer would write by hand: recall, query embedding and HTTP included; and ingest with all links.

Beside the same: a request to ``/health/live``, which does nothing.
"""

from __future__ import annotations

import httpx

from benchmarks.bench import Bench
from benchmarks.figures import Figure, Sheet, at_least, at_most
from benchmarks.handmade import Handmade
from benchmarks.loading import BATCH
from benchmarks.runs.ingest import amount
from benchmarks.serving import serving
from benchmarks.store import Store
from benchmarks.timing import Job, Times, alternate
from engram import AsyncEngram
from engram.memories.schemas import MemoryBatch
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

_NAME = "written by hand"


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("handwritten")
    agent_id = (await bench.store.agent_ids())[0]
    async with (
        bench.stores.copy(bench.store) as copy,
        copy.services() as services,
        copy.connection() as connection,
    ):
        hand = Handmade(connection, services.embedder)
        await hand.create_from_memories()
        await _recall(bench, sheet, copy, hand, agent_id)
        await _ingest(sheet, copy, services, hand, agent_id)
    return sheet.figures


async def _recall(bench: Bench, sheet: Sheet, copy: Store, hand: Handmade, agent_id: str) -> None:
    async with (
        serving(copy) as server,
        AsyncEngram(server.url) as client,
        httpx.AsyncClient(base_url=server.url) as http,
    ):

        async def ask(questions: list[str]) -> dict[str, Times]:
            jobs: dict[str, Job] = {
                "ours": lambda number: client.memories.recall(agent_id, questions[number]),
                "hand": lambda number: hand.recall(agent_id, questions[number]),
            }
            return await alternate(jobs, len(questions))

        await ask(bench.asked(seed=61))  # warms both up
        times = await ask(bench.asked(seed=62))
        times |= await alternate({"nothing": lambda _: _nothing(http)}, bench.questions)
    beside = (_NAME, times["hand"])
    sheet.latency("recall through HTTP, embedding included", times["ours"], beside=beside, p50=at_most(1.5))
    sheet.latency("a request that does nothing", times["nothing"], beside=beside)


async def _nothing(http: httpx.AsyncClient) -> None:
    (await http.get("/health/live")).raise_for_status()


async def _ingest(sheet: Sheet, copy: Store, services: Services, hand: Handmade, agent_id: str) -> None:
    """Batch by batch, each side the same memories."""
    ours, theirs = Times(), Times()
    count = amount(copy.size.memories)
    items = list(copy.corpus.memories(copy.size.memories, count + BATCH))
    for place in range(0, len(items), BATCH):
        if place == BATCH:  # the first batch warmed both up
            ours, theirs = Times(), Times()
        part = items[place : place + BATCH]
        batch = MemoryBatch.model_validate({"agent_id": agent_id, "items": part})
        await ours.of(services.memories.create_many(DEFAULT_SCOPE, batch))
        await theirs.of(hand.write(agent_id, part))
    beside = (_NAME, count / sum(theirs.seconds))
    sheet.add(
        f"create_many, batches of {BATCH}, all links",
        count / sum(ours.seconds),
        "memories/s",
        better="higher",
        beside=beside,
        target=at_least(0.7),
    )
