"""Recall in a store of thousands of agents, beside an exact query for the nearest 50 of the agent.

Beside the same: a transaction of the product in which nothing is asked, which no recall can do without.
"""

from __future__ import annotations

from random import Random

from benchmarks.bare import bare_search
from benchmarks.bench import Bench, vectors_of
from benchmarks.figures import Figure, at_most
from benchmarks.timing import alternate
from engram.recall.schemas import RecallRequest
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("agents")
    random = Random("agents")
    agent_ids = await bench.store.agent_ids()
    asked = random.choices(range(len(agent_ids)), k=bench.questions)
    corpus = bench.store.corpus
    questions = [corpus.question_about(random.choice(bench.store.numbers(agent)), random) for agent in asked]
    async with bench.store.services() as services, bare_search(bench.store) as search:
        database = TenantDatabase(services.database)
        vectors = await vectors_of(services.embedder, questions)
        requests = [
            RecallRequest(agent_id=agent_ids[agent], query=question, embedding=vector.tolist())
            for agent, question, vector in zip(asked, questions, vectors, strict=True)
        ]
        jobs = {
            "bare": lambda number: search.nearest(agent_ids[asked[number]], vectors[number], indexed=False),
            "recall": lambda number: services.recall.recall(DEFAULT_SCOPE, requests[number]),
        }
        await alternate(jobs, len(questions))
        times = await alternate(jobs, len(questions))
        # By itself: a third in the round would change which of the two finds colder caches.
        times |= await alternate({"nothing": lambda _: _nothing(database)}, len(questions))
    beside = ("exact query of the agent", times["bare"])
    sheet.latency("recall, embedding given", times["recall"], beside=beside, p50=at_most(3.0))
    sheet.latency("a transaction with nothing in it", times["nothing"], beside=beside)
    return sheet.figures


async def _nothing(database: TenantDatabase) -> None:
    async with database.snapshot(DEFAULT_SCOPE):
        pass
