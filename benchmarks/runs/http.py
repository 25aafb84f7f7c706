"""(b) The same recall through HTTP, by the SDK, with 1, 8 and 32 clients; its embedding included."""

from __future__ import annotations

from contextlib import AsyncExitStack

from benchmarks.bare import BareSearch, bare_search
from benchmarks.bench import Bench, vectors_of
from benchmarks.figures import Figure, Sheet, at_most
from benchmarks.serving import serving
from benchmarks.timing import Job, Times, alternate, concurrently
from engram import AsyncEngram
from engram.recall.schemas import RecallRequest
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

CLIENTS = (8, 32)
_QUESTIONS_A_CLIENT = 10


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("http")
    agent_id = (await bench.store.agent_ids())[0]
    async with serving(bench.store) as server, bench.store.services() as services:
        async with AsyncEngram(server.url) as client:
            await _alone(bench, sheet, services, client, agent_id)
        for clients in CLIENTS:
            await _together(bench, sheet, services, server.url, agent_id, clients)
    return sheet.figures


async def _alone(bench: Bench, sheet: Sheet, services: Services, client: AsyncEngram, agent_id: str) -> None:
    async def ask(questions: list[str]) -> dict[str, Times]:
        requests = [RecallRequest(agent_id=agent_id, query=question) for question in questions]
        jobs: dict[str, Job] = {
            "process": lambda number: services.recall.recall(DEFAULT_SCOPE, requests[number]),
            "http": lambda number: client.memories.recall(agent_id, questions[number]),
        }
        return await alternate(jobs, len(questions))

    await ask(bench.asked(seed=20))  # warms both up
    times = await ask(bench.asked(seed=21))
    sheet.latency(
        "recall, 1 client", times["http"], beside=("in process", times["process"]), p50=at_most(3.0, of="difference")
    )


async def _together(bench: Bench, sheet: Sheet, services: Services, url: str, agent_id: str, clients: int) -> None:
    questions = bench.store.corpus.questions(max(bench.questions, clients * _QUESTIONS_A_CLIENT), seed=100 + clients)
    vectors = await vectors_of(services.embedder, questions)
    async with AsyncExitStack() as stack:
        sdks = [await stack.enter_async_context(AsyncEngram(url)) for _ in range(clients)]
        searches: list[BareSearch] = [await stack.enter_async_context(bare_search(bench.store)) for _ in sdks]
        indexed = searches[0].index.serves(len(bench.store.numbers(0)), bench.store.size.memories)
        for worker in range(clients):  # connections are opened, and statements planned, at the first use
            await searches[worker].nearest(agent_id, vectors[0], indexed=indexed)
            await sdks[worker].memories.recall(agent_id, "What was the first question?")
        bare, bare_seconds = await concurrently(
            lambda worker, number: searches[worker].nearest(agent_id, vectors[number], indexed=indexed),
            len(questions),
            clients,
        )
        http, seconds = await concurrently(
            lambda worker, number: sdks[worker].memories.recall(agent_id, questions[number]), len(questions), clients
        )
    sheet.latency(f"recall, {clients} clients", http, beside=("bare queries", bare))
    sheet.add(
        f"recalls, {clients} clients",
        len(questions) / seconds,
        "1/s",
        better="higher",
        beside=("bare queries", len(questions) / bare_seconds),
    )
