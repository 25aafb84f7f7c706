"""What a hub and an endless session cost: questions that touch them beside questions that do not, in one agent.

On a copy of the store, to which a name that 50,000 memories mention and a session of 20,000 turns are added; in smaller
stores half and a fifth as many as it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from benchmarks.bench import Bench, vectors_of
from benchmarks.figures import Figure, below
from benchmarks.loading import BATCH
from benchmarks.timing import alternate
from engram.memories.schemas import MemoryBatch
from engram.recall.schemas import RecallRequest
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

HUB = "Marguerite Oyelaran"
RARE = "Bartholomew Quist"
"""As rare as a name can be: so that the questions differ in what the name leads to, not in how many words they have."""

SESSION = "session-without-end"


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("hubs")
    agent_id = (await bench.store.agent_ids())[0]
    memories = bench.store.size.memories
    mentions, turns = min(50_000, memories // 2), min(20_000, memories // 5)
    async with bench.stores.copy(bench.store) as copy, copy.services() as services:
        await _write(services, agent_id, _hub(bench, mentions))
        await _write(services, agent_id, _session(bench, mentions, turns))
        random = Random("hubs")
        ask = bench.store.corpus.question_about
        asked = {
            "plain": [ask(random.randrange(memories), random, RARE) for _ in range(bench.questions)],
            "hub": [ask(random.randrange(memories), random, HUB) for _ in range(bench.questions)],
            "session": [
                ask(memories + mentions + random.randrange(turns), random, RARE) for _ in range(bench.questions)
            ],
        }
        requests = {name: await _requests(services, agent_id, questions) for name, questions in asked.items()}
        jobs = {
            name: lambda number, mine=mine: services.recall.recall(DEFAULT_SCOPE, mine[number])
            for name, mine in requests.items()
        }
        await alternate(jobs, bench.questions)
        times = await alternate(jobs, bench.questions)
    beside = ("questions that touch neither", times["plain"])
    sheet.add("memories that name the hub", mentions, "memories", better="higher")
    sheet.add("turns of the long session", turns, "turns", better="higher")
    sheet.latency("recall that names a hub", times["hub"], beside=beside, p95=below(1.5))
    sheet.latency("recall that touches a long session", times["session"], beside=beside, p95=below(1.5))
    return sheet.figures


async def _requests(services: Services, agent_id: str, questions: list[str]) -> list[RecallRequest]:
    vectors = await vectors_of(services.embedder, questions)
    return [
        RecallRequest(agent_id=agent_id, query=question, embedding=vector.tolist())
        for question, vector in zip(questions, vectors, strict=True)
    ]


def _hub(bench: Bench, count: int) -> Iterator[dict[str, Any]]:
    """Memories that mention one name, a few of which are about it; and one about the rare name."""
    for number, item in enumerate(bench.store.corpus.memories(bench.store.size.memories, count)):
        role = "subject" if number % 1000 == 0 else "mention"
        item["content"] += f" {HUB} said so."
        item["entities"] = [{"name": HUB, "role": role}]
        if number == 0:
            item["entities"].append({"name": RARE, "role": "subject"})
        yield item


def _session(bench: Bench, after: int, count: int) -> Iterator[dict[str, Any]]:
    """Memories that follow one another in one session."""
    for item in bench.store.corpus.memories(bench.store.size.memories + after, count):
        yield {**item, "session_id": SESSION}


async def _write(services: Services, agent_id: str, items: Iterator[dict[str, Any]]) -> None:
    everything = list(items)
    for place in range(0, len(everything), BATCH):
        batch = MemoryBatch.model_validate({"agent_id": agent_id, "items": everything[place : place + BATCH]})
        await services.memories.create_many(DEFAULT_SCOPE, batch)
