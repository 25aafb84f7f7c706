"""A picture of latencies over size: one panel a run, p50 and p95 with their baselines."""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.figures import Figure
from benchmarks.report import Report

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_STYLES = {"p50": "-", "p95": ":"}
_LATENCY = re.compile(r"(?P<name>.+) (?P<percentile>p50|p95)")
_COLUMNS = 2


def plot(report: Report, path: Path) -> None:
    """Draw p50 and p95 over the number of memories, as PNG. Raises OSError, and ValueError where there is none."""
    latencies = [figure for figure in report.figures if _LATENCY.fullmatch(figure.name)]
    runs = list(dict.fromkeys(figure.run for figure in latencies))
    if not runs:
        raise ValueError("no figure is a latency")
    rows = -(-len(runs) // _COLUMNS)
    picture = Picture(figsize=(8.0 * _COLUMNS, 3.6 * rows), layout="constrained")
    for place, run in enumerate(runs):
        _panel(picture.add_subplot(rows, _COLUMNS, place + 1), run, [one for one in latencies if one.run == run])
    picture.savefig(path, format="png", dpi=130)


def _panel(axes: Axes, run: str, figures: list[Figure]) -> None:
    names = list(dict.fromkeys(_part(figure, "name") for figure in figures))
    for place, name in enumerate(names):
        for percentile, style in _STYLES.items():
            line = sorted(
                (one for one in figures if one.name == f"{name} {percentile}"), key=lambda one: one.size.memories
            )
            colour = _COLOURS[place % len(_COLOURS)]
            sizes = [one.size.memories for one in line]
            axes.plot(sizes, [one.value for one in line], style, marker="o", color=colour, label=f"{name} {percentile}")
            beside = [(one.size.memories, one.baseline) for one in line if one.baseline is not None]
            if beside:
                label = f"{line[0].baseline_name} {percentile}"
                axes.plot(*zip(*beside, strict=True), style, marker="x", color=colour, alpha=0.4, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(run, fontsize=10)
    axes.set_xlabel("memories", fontsize=8)
    axes.set_ylabel("milliseconds", fontsize=8)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _part(figure: Figure, part: str) -> str:
    matched = _LATENCY.fullmatch(figure.name)
    assert matched is not None
    return matched[part]
