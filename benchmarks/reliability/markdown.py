"""The figures as tables of a page, put where the page has room for them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.report import Report
from benchmarks.tables import number

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def write(report: Report, command: str, path: Path) -> None:
    """Between the marks of a page that has them; else as a file of its own. Raises OSError."""
    text = "\n".join([BEGIN, _described(report, command), *_tables(report.figures), END])
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    path.write_text(before + text + after if begin and end else text + "\n", encoding="utf-8")


def _described(report: Report, command: str) -> str:
    found = report.environment
    return (
        f"`{command}`, on {found.cpus} CPUs, {found.machine}, {found.memory_gb:.0f} GB of memory,"
        f" Python {found.python}, embedded PostgreSQL {found.postgres} with pgvector {found.pgvector},"
        f" commit {found.commit or 'unknown'}, {found.measured_at[:10]}.\n"
    )


def _tables(figures: list[Figure]) -> list[str]:
    lines = []
    for run, group in groupby(figures, key=lambda figure: figure.run):
        lines += [f"| {run} | | wanted | |", "|---|---|---|---|"]
        for figure in group:
            value = f"{number(figure.value)} {figure.unit}".strip()
            if figure.baseline is not None:
                value += f" ({figure.baseline_name}: {number(figure.baseline)})"
            met = {True: "met", False: "**not met**", None: ""}[figure.met]
            lines.append(f"| {figure.name} | {value} | {_wanted(figure)} | {met} |")
        lines.append("")
    return lines


def _wanted(figure: Figure) -> str:
    """In words: bounds are mostly of the value itself."""
    of, sign, bound = (figure.target or "  ").split(" ", 2)
    said = {"<=": "at most", ">=": "at least", "<": "below", "": ""}[sign]
    return {"value": "", "": ""}.get(of, f"{of} ") + f"{said} {bound}".strip()
