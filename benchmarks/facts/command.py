"""``python -m benchmarks facts-asof``, ``facts-paths`` and ``facts-walk``."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from benchmarks import report as reports
from benchmarks.facts import asof, paths, walks
from benchmarks.facts.running import Measure, report
from benchmarks.tables import show
from engram.cli.logs import quiet_logs

Folder = Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Where the set lies.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Where the Postgres lives; default: a folder that is deleted."),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]

_OUT = Console()
_PROGRESS = Console(stderr=True)


def facts_asof_command(folder: Folder, data_dir: DataDir = None, json: Json = None) -> None:
    """Load dated facts over HTTP, and ask what held on a day. Exits 1 where an answer was not exact."""
    _do(asof.measure, folder, data_dir, json)


def facts_paths_command(folder: Folder, data_dir: DataDir = None, json: Json = None) -> None:
    """Look for the paths that answer questions of two and three hops, and at which rank they come."""
    _do(paths.measure, folder, data_dir, json)


def facts_walk_command(folder: Folder, data_dir: DataDir = None, json: Json = None) -> None:
    """Load hundreds of thousands of facts, and walk beside a statement written by hand and beside networkx."""
    _do(walks.measure, folder, data_dir, json)


def _do(measure: Measure, folder: Path, data_dir: Path | None, json: Path | None) -> None:
    quiet_logs()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    done = uvloop.run(report(measure, folder, data_dir, lambda text: _PROGRESS.print(text, markup=False)))
    if json:
        reports.save(done, json)
    show(_OUT, done)
    if any(figure.met is False for figure in done.figures):
        raise typer.Exit(1)
