"""(a) A recall with all defaults, in process, beside the bare query for the nearest 50; and how complete HNSW is."""

from __future__ import annotations

from benchmarks.bare import LIMIT, BareSearch, bare_search
from benchmarks.bench import Bench, vectors_of
from benchmarks.figures import Figure, Sheet, at_least
from benchmarks.timing import alternate
from engram.embeddings.base import Vectors
from engram.recall.schemas import RecallRequest
from engram.tenants.scope import DEFAULT_SCOPE

_COMPARED = 100
"""Questions that are also answered exactly: that takes its time in large stores."""

_SAME = 1e-6
"""Distances that differ by less are those of equal texts."""


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("recall")
    agent_id = (await bench.store.agent_ids())[0]
    questions = bench.asked(seed=11)
    async with bench.store.services() as services, bare_search(bench.store) as search:
        vectors = await vectors_of(services.embedder, questions)
        indexed = search.index.serves(len(bench.store.numbers(0)), bench.store.size.memories)
        given = [
            RecallRequest(agent_id=agent_id, query=question, embedding=vector.tolist())
            for question, vector in zip(questions, vectors, strict=True)
        ]
        asked = [RecallRequest(agent_id=agent_id, query=question) for question in questions]
        jobs = {
            "bare": lambda number: search.nearest(agent_id, vectors[number], indexed=indexed),
            "given": lambda number: services.recall.recall(DEFAULT_SCOPE, given[number]),
        }
        await alternate(jobs, len(questions))
        times = await alternate(
            {**jobs, "asked": lambda number: services.recall.recall(DEFAULT_SCOPE, asked[number])}, len(questions)
        )
        bare = ("bare HNSW query" if indexed else "bare exact query", times["bare"])
        sheet.latency("recall, embedding given", times["given"], beside=bare)
        sheet.latency("recall, embedding included", times["asked"], beside=bare)
        if indexed:
            await _completeness(sheet, search, agent_id, vectors[:_COMPARED])
    return sheet.figures


async def _completeness(sheet: Sheet, search: BareSearch, agent_id: str, vectors: list[Vectors]) -> None:
    """What share of the exact 50 nearest the index finds; the scanned statement cannot use it."""
    found = wanted = 0
    for vector in vectors:
        exact = await search.nearest(agent_id, vector, indexed=False)
        through_index = await search.nearest(agent_id, vector, indexed=True)
        farthest = exact[-1]["distance"] + _SAME
        found += sum(row["distance"] <= farthest for row in through_index)
        wanted += len(exact)
    sheet.add(f"HNSW recall@{LIMIT}", found / wanted, "share", better="higher", target=at_least(0.95, of="value"))
