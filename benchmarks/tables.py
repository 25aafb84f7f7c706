"""Figures as tables for people: one for each run and store."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.table import Table

from benchmarks.comparison import Change, changes
from benchmarks.figures import Figure
from benchmarks.report import Environment, Report


def show(console: Console, report: Report, before: Report | None = None) -> None:
    """Print a report; beside an earlier one where it is given, with what became worse in red."""
    console.print(_described(report.environment), style="dim")
    compared = changes(before.figures, report.figures) if before else None
    for (run, size), figures in groupby(report.figures, key=lambda figure: (figure.run, figure.size)):
        table = Table(title=f"{run}, {size}", title_justify="left", title_style="bold")
        table.add_column("figure")
        for heading in ("value", "baseline", "ratio", "target", *(("before", "change") if before else ())):
            table.add_column(heading, justify="right")
        for figure in figures:
            table.add_row(*_cells(figure), *(_compared(figure, compared) if compared is not None else ()))
        console.print(table)
    if compared is not None:
        worse = sum(change.regressed for change in compared.values())
        console.print(f"{worse} of {len(compared)} figures became worse by more than 20 %.")
    missed = [figure for figure in report.figures if figure.met is False]
    wanted = [figure for figure in report.figures if figure.met is not None]
    console.print(f"{len(wanted) - len(missed)} of {len(wanted)} targets are met.")


def _cells(figure: Figure) -> tuple[str, ...]:
    baseline = f"{number(figure.baseline)} ({figure.baseline_name})" if figure.baseline is not None else ""
    ratio = f"{figure.ratio:.2f}" if figure.ratio is not None else ""
    mark = {True: "[green]met[/]", False: "[bold red]not met[/]", None: ""}[figure.met]
    target = f"{figure.target} {mark}" if figure.target else ""
    return figure.name, f"{number(figure.value)} {figure.unit}", baseline, ratio, target


def _compared(figure: Figure, compared: dict[tuple[str, int, int, str], Change]) -> tuple[str, str]:
    change = compared.get(figure.key)
    if change is None:
        return "", ""
    text = f"{abs(change.worse):.0%} {'worse' if change.worse > 0 else 'better'}"
    return number(change.before), f"[bold red]{text}[/]" if change.regressed else text


def number(value: float) -> str:
    """To three digits or so: what follows is chance."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _described(found: Environment) -> str:
    return (
        f"Engram {found.engram} ({found.commit or 'no commit'}), Python {found.python}, PostgreSQL {found.postgres},"
        f" pgvector {found.pgvector}, {found.embedder}, {found.cpus} CPUs, {found.machine}"
    )
