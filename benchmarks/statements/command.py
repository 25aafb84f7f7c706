"""``python -m benchmarks statements``."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from benchmarks import report as reports
from benchmarks.figures import Size
from benchmarks.report import environment
from benchmarks.statements.loading import load
from benchmarks.statements.measuring import measure
from benchmarks.store import open_stores
from benchmarks.tables import show
from engram.cli.logs import quiet_logs

Graph = Annotated[
    Path, typer.Argument(metavar="DIR", help="Where train, valid, test and entities.tsv.gz of the graph are.")
]
DataDir = Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Where the store is kept and reused.")]
Memories = Annotated[int, typer.Option("--memories", "-n", min=100, help="How many memories state the triples.")]
Questions = Annotated[int, typer.Option("--questions", "-q", min=10, help="How often each read is measured.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]

_OUT = Console()
_PROGRESS = Console(stderr=True)


def statements_command(
    graph: Graph, data_dir: DataDir, memories: Memories = 100_000, questions: Questions = 100, json: Json = None
) -> None:
    """Measure lists of an agent whose memories state a knowledge graph."""
    quiet_logs()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = uvloop.run(_measured(graph, data_dir, memories, questions))
    if json:
        reports.save(report, json)
    show(_OUT, report)


async def _measured(graph: Path, data_dir: Path, memories: int, questions: int) -> reports.Report:
    async with open_stores(data_dir) as stores:
        store = await stores.named(f"benchmark_statements_{memories}", Size(memories=memories))
        async with store.services() as services:
            agent_id = await load(store, services, graph, memories, _PROGRESS.print)
            figures = await measure(store, services, agent_id, questions)
        return reports.Report(environment=await environment(store), figures=figures)
