"""``python -m benchmarks reliability``."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from benchmarks import report as reports
from benchmarks.reliability import markdown
from benchmarks.reliability.judging import Course, figures
from benchmarks.reliability.plan import Plan
from benchmarks.reliability.running import run
from benchmarks.tables import show
from engram.cli.logs import quiet_logs

DataDir = Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Where the server's Postgres lives.")]
Minutes = Annotated[float, typer.Option("--minutes", min=0.05, help="How long clients ask.")]
Clients = Annotated[int, typer.Option("--clients", min=1, max=500, help="How many ask at once.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]
Markdown = Annotated[Path | None, typer.Option("--report", metavar="FILE.md", help="Write the figures as tables.")]

_TOLD = 20

_OUT = Console()
_PROGRESS = Console(stderr=True)


def reliability_command(
    data_dir: DataDir,
    minutes: Minutes = 10.0,
    clients: Clients = 32,
    json: Json = None,
    page: Markdown = None,
) -> None:
    """Serve many clients while Postgres and the embedder fail, and check every answer. Exits 1 where one was wrong."""
    quiet_logs()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    data_dir.mkdir(parents=True, exist_ok=True)
    course, environment = uvloop.run(run(Plan.over(minutes, clients), data_dir, _PROGRESS.print))
    report = reports.Report(environment=environment, figures=figures(course))
    if json:
        reports.save(report, json)
    if page:
        markdown.write(report, f"python -m benchmarks reliability --minutes {minutes:g} --clients {clients}", page)
    show(_OUT, report)
    for kind, told in faults(course).items():
        for what in told[:_TOLD]:
            _OUT.print(f"[red]{kind}[/]: ", end="")
            _OUT.print(what, markup=False)
    if any(figure.met is False for figure in report.figures):
        raise typer.Exit(1)


def faults(course: Course) -> dict[str, list[str]]:
    """What was wrong, in words, by kind."""
    verdict = course.verdict
    return {
        "wrong answer": course.load.wrong.told,
        "answer of a wrong kind": course.load.unexplained.told,
        "lost": verdict.lost.told,
        "still there": verdict.undead.told,
        "altered": verdict.altered.told,
        "in part": verdict.torn.told,
        "unwritten": verdict.unwritten.told,
    }
