"""``python -m benchmarks entity-walk``."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from pydantic import SecretStr
from rich.console import Console

from benchmarks import report as reports
from benchmarks.entity_walk.loading import load, triples
from benchmarks.entity_walk.measuring import measure
from benchmarks.figures import Size
from benchmarks.report import environment
from benchmarks.store import open_stores
from benchmarks.tables import show
from engram.cli.logs import quiet_logs
from engram.server.garbage import settled_heap
from engram.services import open_services
from engram.settings import Settings

Graph = Annotated[Path, typer.Argument(metavar="DIR", help="Where train, valid and test.tsv.gz of the graph are.")]
DataDir = Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Where the store is kept and reused.")]
Questions = Annotated[int, typer.Option("--questions", "-q", min=10, help="How many walks are measured.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]

_OUT = Console()
_PROGRESS = Console(stderr=True)


def entity_walk_command(graph: Graph, data_dir: DataDir, questions: Questions = 200, json: Json = None) -> None:
    """Walk over a knowledge graph as co-occurrences, beside the same queries run bare. Exits 1 where a target is
    missed."""
    quiet_logs()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = uvloop.run(_measured(graph, data_dir, questions))
    if json:
        reports.save(report, json)
    show(_OUT, report)
    if any(figure.met is False for figure in report.figures):
        raise typer.Exit(1)


async def _measured(graph: Path, data_dir: Path, questions: int) -> reports.Report:
    size = Size(memories=len(triples(graph)))
    async with open_stores(data_dir) as stores:
        store = await stores.named("benchmark_entity_walk", size)
        # One connection: the statements of a walk are listened to on it.
        settings = Settings(database_url=SecretStr(store.url), data_dir=data_dir, pool_size=1)
        async with open_services(settings) as services, settled_heap():
            agent_id = await load(store, services, graph, _PROGRESS.print)
            figures = await measure(store, services, agent_id, questions)
        return reports.Report(environment=await environment(store), figures=figures)
