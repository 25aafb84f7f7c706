"""A run, and two runs compared, as tables of at most 80 columns for the usual variants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engram.cli.text import counted, one_line
from engram.evaluation.comparison import Comparison
from engram.evaluation.figures import Estimate
from engram.evaluation.metrics import metric_names, primary_metric
from engram.evaluation.runs import Run, SetRun, VariantRun
from engram.evaluation.significance import Difference, Verdict
from engram.evaluation.verdicts import BASELINES, EXTRACTED_AGAINST

_COLOURS = {Verdict.better: "green", Verdict.as_good: "", Verdict.worse: "red"}
_COLUMNS = 5
"""Variants beside each other in a table by type of question."""


def show_run(console: Console, run: Run) -> None:
    for one in run.sets:
        _show_set(console, one, run.ks)
    environment = run.environment
    model = f" ({one_line(environment.embedding_model)})" if environment.embedding_model else ""
    console.print(
        f"Engram {environment.engram}, {environment.embedding_provider} embedder{model}. Below a mean stands its 95 %"
        " bootstrap confidence interval over questions."
    )


def show_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    for name, of_set in groupby(comparisons, lambda one: one.set):
        group = list(of_set)
        console.print(Text.assemble((one_line(name), "bold"), f": {counted(group[0].questions, 'question')}"))
        table = _table("Variant", "metric", "before", "after", "difference", "p", "verdict")
        for one in group:
            shown = {metric: told for metric, told in one.metrics.items() if not metric.startswith(("hit", "all"))}
            for row, (metric, change) in enumerate(shown.items()):
                table.add_row(
                    "" if row else one_line(one.variant),
                    metric,
                    f"{change.before:.3f}",
                    f"{change.after:.3f}",
                    Text.assemble(f"{change.difference.mean:+.3f}\n", (_interval(change.difference), "dim")),
                    _p_value(change.difference.p_value),
                    Text(change.difference.verdict.value, _COLOURS[change.difference.verdict]),
                )
        console.print(table)


def _show_set(console: Console, run: SetRun, ks: Sequence[int]) -> None:
    loaded = run.variants[0].loaded
    console.print(
        Text.assemble(
            (one_line(run.name), "bold"),
            f": {counted(run.memories, 'memory', 'memories')} in {counted(run.banks, 'bank')}, "
            f"{counted(len(run.questions), 'question')}"
            f"{f' ({run.left_out:,} left out)' if run.left_out else ''}, "
            f"{f'titles of {loaded.titles:,} as subjects' if loaded.titles else 'no titles'}; "
            f"loaded in {loaded.seconds:.1f} s",
        )
    )
    if not all(variant.loaded.linked for variant in run.variants):
        console.print(Text("Some links could not be made: these figures are not to be trusted.", "red"))
    names = metric_names(ks)
    ranked = [name for name in names if name.startswith("recall")] + names[-2:]
    console.print(_figures(run, ranked, latency=True))
    console.print(_figures(run, names[len(ks) : -2], latency=False))
    missing = [variant for variant in run.variants if variant.missing is not None]
    for variant in missing:
        console.print(f"{variant.name}: this set has no {variant.missing} edges, so there is nothing to leave out.")
    metric = primary_metric(ks)
    measured = [variant for variant in run.variants if variant.figures is not None]
    for start in range(0, len(measured), _COLUMNS):
        some = measured[start : start + _COLUMNS]
        if some[0].types:
            console.print(_by_type(some, metric))
    if any(variant.against for variant in measured):
        console.print(_verdicts(measured, metric))
    console.print()


def _figures(run: SetRun, metrics: Sequence[str], *, latency: bool) -> Table:
    table = _table("Variant", *metrics, *(["ms p50\nand p95"] if latency else []))
    for variant in run.variants:
        name = one_line(variant.name)
        if variant.figures is None:
            table.add_row(name, *["-"] * (len(metrics) + latency))
            continue
        cells = [_estimate(variant.figures.metrics[metric]) for metric in metrics]
        if latency and variant.latency is not None:
            cells.append(Text.assemble(f"{variant.latency.p50_ms:.1f}\n", (f"{variant.latency.p95_ms:.1f}", "dim")))
        table.add_row(name, *cells)
    return table


def _by_type(variants: Sequence[VariantRun], metric: str) -> Table:
    table = _table(f"Type, {metric}", *(one_line(variant.name) for variant in variants))
    for kind, figures in variants[0].types.items():
        cells = [_estimate(variant.types[kind].metrics[metric]) for variant in variants]
        table.add_row(Text.assemble(one_line(kind), (f"\n{counted(figures.questions, 'question')}", "dim")), *cells)
    return table


def _verdicts(variants: Sequence[VariantRun], metric: str) -> Table:
    asked = any(EXTRACTED_AGAINST in variant.against for variant in variants)
    baselines = [*([EXTRACTED_AGAINST] if asked else []), *BASELINES]
    table = _table(f"Paired, {metric}", *(f"against {baseline}" for baseline in baselines))
    for variant in variants:
        if not variant.against:
            continue
        cells = []
        for baseline in baselines:
            told = variant.against.get(baseline, {}).get(metric)
            cells.append(_verdict(told) if told else Text("-"))
        table.add_row(one_line(variant.name), *cells)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=0)
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right")
    return table


def _estimate(estimate: Estimate) -> Text:
    interval = "" if estimate.low is None else f"{_short(estimate.low)}-{_short(estimate.high or 0)}"
    return Text.assemble(f"{estimate.mean:.3f}\n", (interval, "dim"))


def _verdict(told: Difference) -> Text:
    interval, p_value = _interval(told), _p_value(told.p_value)
    return Text.assemble(
        (told.verdict.value, _COLOURS[told.verdict]),
        f" {told.mean:+.3f}\n",
        (f"{interval}{', ' if interval else ''}p {p_value if p_value.startswith('<') else f'= {p_value}'}", "dim"),
    )


def _interval(told: Difference) -> str:
    return "" if told.low is None or told.high is None else f"{told.low:+.3f} to {told.high:+.3f}"


def _p_value(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"


def _short(value: float) -> str:
    return "1" if value == 1 else f"{value:.3f}".removeprefix("0")
