"""The command line of the benchmarks."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from benchmarks import report as reports
from benchmarks.entities import entities_command
from benchmarks.entity_walk.command import entity_walk_command
from benchmarks.facts.command import facts_asof_command, facts_paths_command, facts_walk_command
from benchmarks.figures import Size
from benchmarks.loading import OtherCorpusError
from benchmarks.plot import plot
from benchmarks.reliability.command import reliability_command
from benchmarks.running import RUNS, SPREAD, Plan, measure, suite
from benchmarks.statements.command import statements_command
from benchmarks.tables import show
from engram.cli.logs import quiet_logs

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure Engram beside bare baselines.")
app.command("reliability")(reliability_command)
app.command("facts-asof")(facts_asof_command)
app.command("facts-paths")(facts_paths_command)
app.command("facts-walk")(facts_walk_command)
app.command("entity-walk")(entity_walk_command)
app.command("entities")(entities_command)
app.command("statements")(statements_command)

DataDir = Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Where stores are kept and reused.")]
Memories = Annotated[int, typer.Option("--memories", "-n", min=100, help="How many memories the store holds.")]
Agents = Annotated[int, typer.Option("--agents", "-a", min=1, help="Over how many agents they are spread.")]
Questions = Annotated[int, typer.Option("--questions", "-q", min=10, help="How many questions are asked.")]
Callers = Annotated[int, typer.Option("--callers", min=1, max=16, help="Batches that are written at once.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw p50 and p95 over size.")]
Compare = Annotated[Path | None, typer.Option("--compare", metavar="OLD.json", help="Show an earlier run beside it.")]
Names = Annotated[list[str], typer.Argument(metavar="RUN...", help=f"Of {', '.join(RUNS)}.", show_default=False)]
Sizes = Annotated[str, typer.Option("--sizes", metavar="NUMBERS", help="Sizes of stores, separated by commas.")]

_OUT = Console()
_PROGRESS = Console(stderr=True)


@app.command("load")
def load_command(
    data_dir: DataDir,
    memories: Memories = 10_000,
    agents: Agents = 1,
    callers: Callers = 2,
    json: Json = None,
    compare: Compare = None,
) -> None:
    """Make a store by create_many, and tell how fast each 10,000 memories were written."""
    _do(data_dir, [(Size(memories=memories, agents=agents), [])], 10, callers, json=json, picture=None, compare=compare)


@app.command("run")
def run_command(
    names: Names,
    data_dir: DataDir,
    memories: Memories = 10_000,
    agents: Agents = 1,
    questions: Questions = 200,
    callers: Callers = 2,
    json: Json = None,
    picture: Plot = None,
    compare: Compare = None,
) -> None:
    """Do some runs on one store, which is loaded where it is not there yet."""
    unknown = [name for name in names if name not in RUNS]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: one of {', '.join(RUNS)}", param_hint="RUN")
    wrong = [name for name in names if (name == SPREAD) != (agents > 1)]
    if wrong:
        raise typer.BadParameter(f"{SPREAD} takes a store of several agents, all others one", param_hint="--agents")
    plans: list[Plan] = [(Size(memories=memories, agents=agents), names)]
    _do(data_dir, plans, questions, callers, json=json, picture=picture, compare=compare)


@app.command("suite")
def suite_command(
    data_dir: DataDir,
    sizes: Sizes = "1000,10000,100000",
    questions: Questions = 200,
    callers: Callers = 2,
    json: Json = None,
    picture: Plot = None,
    compare: Compare = None,
) -> None:
    """Do all runs at each size, and the one of many agents at the largest."""
    try:
        plans = suite(int(size) for size in sizes.split(","))
    except ValueError:
        raise typer.BadParameter(f"{sizes!r} is not a list of numbers", param_hint="--sizes") from None
    _do(data_dir, plans, questions, callers, json=json, picture=picture, compare=compare)


def _do(
    data_dir: Path,
    plans: list[Plan],
    questions: int,
    callers: int,
    *,
    json: Path | None,
    picture: Path | None,
    compare: Path | None,
) -> None:
    quiet_logs()
    # A run that is told to end drops its copies and stops its Postgres, like one that is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    before = reports.read(compare) if compare else None

    def keep(report: reports.Report) -> None:
        if json:
            reports.save(report, json)

    try:
        # The server's own loop: in another one everything in process would take longer than it does there.
        report = uvloop.run(
            measure(data_dir, plans, questions=questions, callers=callers, said=_PROGRESS.print, keep=keep)
        )
    except OtherCorpusError as error:
        raise typer.BadParameter(str(error), param_hint="--data-dir") from None
    show(_OUT, report, before)
    if picture:
        plot(report, picture)
