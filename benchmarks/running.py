"""Which runs there are, and doing them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.across import flatness
from benchmarks.bench import Bench, Measure
from benchmarks.figures import Figure, Size
from benchmarks.loading import load
from benchmarks.report import Report, environment
from benchmarks.runs import agents, filters, handwritten, http, hubs, ingest, recall, server, while_writing, writes
from benchmarks.store import open_stores

RUNS: dict[str, Measure] = {
    "recall": recall.measure,
    "http": http.measure,
    "ingest": ingest.measure,
    "writes": writes.measure,
    "while-writing": while_writing.measure,
    "filters": filters.measure,
    "hubs": hubs.measure,
    "server": server.measure,
    "handwritten": handwritten.measure,
    "agents": agents.measure,
}
SPREAD = "agents"
"""The run that takes a store of many agents; the others take one of a single agent."""

MEMORIES_AN_AGENT = 20
MOST_SPREAD = 100_000

Plan = tuple[Size, Sequence[str]]
"""A store, and the runs to do on it; none only loads it."""


def suite(sizes: Iterable[int]) -> list[Plan]:
    """All runs at each size, and the one of many agents at the largest of up to 100,000 memories."""
    ordered = sorted(set(sizes))
    alone = [(Size(memories=size), [name for name in RUNS if name != SPREAD]) for size in ordered]
    spread = min(ordered[-1], MOST_SPREAD)
    return [*alone, (Size(memories=spread, agents=max(2, spread // MEMORIES_AN_AGENT)), [SPREAD])]


async def measure(
    data_dir: Path,
    plans: Sequence[Plan],
    *,
    questions: int,
    callers: int,
    said: Callable[[str], None],
    keep: Callable[[Report], None],
) -> Report:
    """Load what is missing, and do the runs; ``keep`` is given all figures so far after each, as later ones may fail.

    Raises OtherCorpusError, and what Postgres and the services raise.
    """
    figures: list[Figure] = []
    async with open_stores(data_dir) as stores:
        for size, names in plans:
            store = await stores.open(size)
            figures += await load(store, callers=callers, said=said)
            for name in names:
                said(f"{name}, {size}")
                figures += await RUNS[name](Bench(stores, store, questions))
                keep(Report(environment=await environment(store), figures=figures))
        found = await environment(store)
    report = Report(environment=found, figures=[*figures, *flatness(figures)])
    keep(report)
    return report
