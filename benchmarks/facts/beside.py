"""networkx on the same facts: what a graph in the process costs to load and to hold, and its walk.

In a process of its own, so that its memory is its own: ``python -m benchmarks.facts.beside FOLDER WORDS LIMIT`` prints
JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import networkx as nx  # type: ignore[import-untyped]
import psutil  # type: ignore[import-untyped]
from pydantic import BaseModel

from benchmarks.facts.sets import numbered_facts

_MB = 1024 * 1024


class Beside(BaseModel):
    """Seconds of loading from the files, megabytes that the graph takes, seconds of each walk."""

    loading_seconds: float
    resident_mb: float
    walk_seconds: list[float]


def run(folder: Path, starts: Sequence[str], limit: int) -> Beside:
    asked = json.dumps(list(starts))
    command = [sys.executable, "-m", "benchmarks.facts.beside", str(folder), str(limit)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    return Beside.model_validate_json(done.stdout)


def walk(graph: nx.MultiDiGraph, start: str, limit: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """All simple paths of one and two hops in both directions, the first ``limit`` in our order: hops, the newest fact
    and the facts, by the place at which they were added."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for near, place in _steps(graph, start):
        if near == start:
            continue
        found.append((1, -place, (-place,)))
        for far, other in _steps(graph, near):
            if far not in (start, near):
                found.append((2, -max(place, other), (-place, -other)))
    return sorted(found)[:limit]


def _steps(graph: nx.MultiDiGraph, node: str) -> list[tuple[str, int]]:
    out = [(target, place) for _, target, place in graph.out_edges(node, data="place")]
    return out + [(source, place) for source, _, place in graph.in_edges(node, data="place")]


def _main(folder: Path, limit: int) -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    started = time.perf_counter()
    graph: nx.MultiDiGraph = nx.MultiDiGraph()
    facts = numbered_facts(folder)
    for place, item in enumerate(facts.items):
        graph.add_edge(item["subject"], item["object"], predicate=item["predicate"], place=place)
    loading = time.perf_counter() - started
    del facts
    resident = (process.memory_info().rss - before) / _MB
    seconds = []
    for start in json.load(sys.stdin):
        started = time.perf_counter()
        walk(graph, start, limit)
        seconds.append(time.perf_counter() - started)
    found = Beside(loading_seconds=loading, resident_mb=resident, walk_seconds=seconds)
    sys.stdout.write(found.model_dump_json())


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
