"""Load public question sets through the services and print what recall finds.

    python benchmarks/recall_quality.py DATA/locomo DATA/hotpotqa_100 [--no-titles] [--json]

Each folder holds ``memories.jsonl.gz`` and ``queries.jsonl.gz``: one memory bank (``ns``) is one agent. With
``--titles`` (the default for sets whose texts open with a title line) the title is declared as the subject.
Printed are loading time and rate, and recall@k: the share of a question's gold memories among the first k, averaged.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engram.agents.schemas import AgentCreate
from engram.logs import configure_logging
from engram.memories.schemas import MemoryBatch
from engram.recall.schemas import RecallRequest
from engram.recall.tuning import RecallTuning
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from engram.tuning import Tuning

VARIANTS: dict[str, dict[str, Any]] = {
    "vector": {"graph_weight": 0.0, "max_hops": 0, "lexical": False},
    "vector+lexical": {"max_hops": 0},
    "full": {},
}
KS = (5, 10)


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def has_titles(memories: Sequence[dict[str, Any]]) -> bool:
    """Whether texts open with a title line: short, followed by a body, and no speaker's turn."""
    opened = [m for m in memories if "\n" in m["text"] and len(m["text"].partition("\n")[0]) <= 120]
    return len(opened) == len(memories) and not any("session" in (m.get("meta") or {}) for m in memories)


def item(memory: dict[str, Any], *, titles: bool) -> dict[str, Any]:
    meta = memory.get("meta") or {}
    return {
        "content": memory["text"],
        "session_id": meta.get("session"),
        "valid_from": memory.get("ts"),
        "metadata": {"id": memory["id"]},
        "entities": [{"name": memory["text"].partition("\n")[0][:256], "role": "subject"}] if titles else [],
    }


def batches(items: Sequence[dict[str, Any]], size: int = 1000) -> Iterable[Sequence[dict[str, Any]]]:
    return (items[start : start + size] for start in range(0, len(items), size))


async def load(services: Services, folder: Path, *, titles: bool | None) -> tuple[dict[str, str], dict[str, Any]]:
    """Banks as agents: their ids by bank, and how long loading took."""
    memories = list(read(folder / "memories.jsonl.gz"))
    titles = has_titles(memories) if titles is None else titles
    banks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for memory in memories:
        banks[memory["ns"]].append(item(memory, titles=titles))
    agents: dict[str, str] = {}
    linked = True
    started = time.perf_counter()
    for bank, items in banks.items():
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name=f"{folder.name}/{bank}"))
        agents[bank] = agent.id
        for batch in batches(items):
            request = MemoryBatch.model_validate({"agent_id": agent.id, "items": batch})
            linked &= (await services.memories.create_many(DEFAULT_SCOPE, request)).linked
    seconds = time.perf_counter() - started
    return agents, {
        "memories": len(memories),
        "titles": titles,
        "linked": linked,
        "load_seconds": round(seconds, 2),
        "memories_per_second": round(len(memories) / seconds),
    }


async def ask(services: Services, folder: Path, agents: dict[str, str], variant: dict[str, Any]) -> dict[str, float]:
    """Mean recall@k over the questions with gold, LoCoMo's adversarial ones left out, and latency."""
    shares: dict[int, list[float]] = {k: [] for k in KS}
    took: list[float] = []
    for query in read(folder / "queries.jsonl.gz"):
        gold = set(query["gold"])
        if not gold or query.get("type") == "adversarial":
            continue
        request = RecallRequest(agent_id=agents[query["ns"]], query=query["query"], top_k=max(KS), **variant)
        response = await services.recall.recall(DEFAULT_SCOPE, request)
        took.append(response.took_ms)
        found = [hit.metadata["id"] for hit in response.results]
        for k in KS:
            shares[k].append(len(gold & set(found[:k])) / len(gold))
    measured = {f"recall@{k}": round(statistics.fmean(values), 3) for k, values in shares.items()}
    quantiles = statistics.quantiles(took, n=20)
    return {
        **measured,
        "questions": len(took),
        "p50_ms": round(statistics.median(took), 1),
        "p95_ms": round(quantiles[18], 1),
    }


async def measure(
    folders: Sequence[Path], titles: bool | None, variants: Sequence[str], threshold: float | None, tuning: Tuning
) -> dict[str, Any]:
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(data_dir=Path(scratch) / "data", database_url=None, thematic_threshold=threshold)
        configure_logging(settings)
        async with open_services(settings, tuning=tuning) as services:
            for folder in folders:
                agents, loaded = await load(services, folder, titles=titles)
                report[folder.name] = {
                    **loaded,
                    "variants": {name: await ask(services, folder, agents, VARIANTS[name]) for name in variants},
                }
                show(folder.name, report[folder.name])
    return report


def show(name: str, measured: dict[str, Any]) -> None:
    out = sys.stderr
    print(
        f"\n{name}: {measured['memories']} memories loaded in {measured['load_seconds']} s"
        f" ({measured['memories_per_second']}/s, links included)"
        f"{', titles as subjects' if measured['titles'] else ''}"
        f"{'' if measured['linked'] else ', SOME LINKS FAILED'}",
        file=out,
    )
    print(f"  {'variant':<16}{'recall@5':>10}{'recall@10':>11}{'p50 ms':>9}{'p95 ms':>9}", file=out)
    for variant, values in measured["variants"].items():
        print(
            f"  {variant:<16}{values['recall@5']:>10.3f}{values['recall@10']:>11.3f}"
            f"{values['p50_ms']:>9}{values['p95_ms']:>9}",
            file=out,
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--titles", action=argparse.BooleanOptionalAction, default=None)
    parser.add_argument("--variants", default=",".join(VARIANTS), help=f"of {', '.join(VARIANTS)}")
    parser.add_argument("--fan-out", type=int, default=RecallTuning().fan_out, help="edges followed from one memory")
    parser.add_argument("--frontier", type=int, default=RecallTuning().frontier, help="memories each hop goes on from")
    parser.add_argument("--thematic-threshold", type=float, help="cosine above which memories are linked")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON on stdout")
    options = parser.parse_args()
    tuning = Tuning(recall=RecallTuning(fan_out=options.fan_out, frontier=options.frontier))
    report = asyncio.run(
        measure(options.folders, options.titles, options.variants.split(","), options.thematic_threshold, tuning)
    )
    if options.json:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
