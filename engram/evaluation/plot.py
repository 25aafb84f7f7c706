"""A picture of a run: one metric by set and variant, with confidence intervals."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engram.evaluation.metrics import primary_metric
from engram.evaluation.runs import Run, SetRun

# Okabe and Ito's colours, which those who see fewer colours can tell apart.
_COLOURS = ("#999999", "#E69F00", "#56B4E9", "#CC79A7", "#009E73", "#F0E442", "#D55E00", "#0072B2")
_HATCHES = ("", "//", "..", "xx")
_DPI = 150
_GAP = 0.8
"""Between the bars of two sets, in bars."""


def plot(run: Run, path: Path) -> None:
    """Draw the primary metric by variant and set, as PNG. Raises OSError."""
    metric = primary_metric(run.ks)
    names = list(dict.fromkeys(variant.name for one in run.sets for variant in one.variants))
    bars = len(run.sets) * (len(names) + _GAP)
    # Without pyplot there is no window and no global state.
    figure = Figure(figsize=(min(max(6.0, 0.28 * bars + 1.5), 40.0), 4.6), layout="constrained")
    axes = figure.add_subplot()
    for place, name in enumerate(names):
        _bars(axes, run.sets, name, metric, place, len(names))
    axes.set_xticks([_left(at, len(names)) + (len(names) - 1) / 2 for at in range(len(run.sets))])
    axes.set_xticklabels([f"{one.name}\n{len(one.questions):,} questions" for one in run.sets], fontsize=8)
    axes.set_ylim(0, 1)
    axes.margins(x=0.01)
    axes.set_ylabel(f"{metric}, mean with 95 % confidence interval", fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=min(len(names), 6), fontsize=8, frameon=False)
    embedder = run.environment.embedding_provider
    axes.set_title(f"Engram {run.environment.engram}, {embedder} embedder", fontsize=9, color="#555555")
    figure.savefig(path, format="png", dpi=_DPI)


def _bars(axes: Axes, sets: list[SetRun], name: str, metric: str, place: int, count: int) -> None:
    xs, means, below, above = [], [], [], []
    for at, one in enumerate(sets):
        variant = one.variant(name)
        if variant is None or variant.figures is None:
            continue
        estimate = variant.figures.metrics[metric]
        xs.append(_left(at, count) + place)
        means.append(estimate.mean)
        below.append(estimate.mean - estimate.low if estimate.low is not None else 0.0)
        above.append(estimate.high - estimate.mean if estimate.high is not None else 0.0)
    if not xs:
        return
    drawn = axes.bar(
        xs,
        means,
        width=0.92,
        color=_COLOURS[place % len(_COLOURS)],
        hatch=_HATCHES[place // len(_COLOURS) % len(_HATCHES)],
        label=name,
        yerr=(below, above),
        error_kw={"elinewidth": 0.9, "capsize": 2.0, "ecolor": "#333333"},
    )
    axes.bar_label(drawn, [f"{mean:.2f}"[1:] if mean < 1 else "1" for mean in means], label_type="center", fontsize=6)


def _left(at: int, count: int) -> float:
    return at * (count + _GAP)
