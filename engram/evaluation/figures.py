"""From rankings to figures: means with confidence intervals, over all questions and by type. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from engram.evaluation.intervals import intervals
from engram.evaluation.metrics import Measured


class Estimate(BaseModel):
    """A mean over questions and the ends of its confidence interval, all in [0, 1]; None where there is but one."""

    mean: float
    low: float | None
    high: float | None


class Figures(BaseModel):
    """Estimates by metric over a number of questions."""

    questions: int
    metrics: dict[str, Estimate]


class Latency(BaseModel):
    """Milliseconds that recall took in the server, the embedding of the question left out."""

    p50_ms: float
    p95_ms: float


def figures(measured: Measured, rows: Sequence[int] | None = None) -> Figures:
    """Figures over all questions, or over those at ``rows``."""
    values = measured.values if rows is None else measured.values[list(rows)]
    lows, highs = intervals(values)
    estimates = {
        name: Estimate(mean=float(mean), low=_known(low), high=_known(high))
        for name, mean, low, high in zip(measured.metrics, values.mean(axis=0), lows, highs, strict=True)
    }
    return Figures(questions=len(values), metrics=estimates)


def figures_by_type(measured: Measured, types: Sequence[str]) -> dict[str, Figures]:
    """Figures of each type of question; ``types`` has that of each question. None where all are of one type."""
    rows: dict[str, list[int]] = {}
    for row, kind in enumerate(types):
        rows.setdefault(kind, []).append(row)
    return {kind: figures(measured, rows[kind]) for kind in sorted(rows)} if len(rows) > 1 else {}


def latency(took_ms: Sequence[float]) -> Latency:
    p50, p95 = np.percentile(took_ms, [50, 95])
    return Latency(p50_ms=float(p50), p95_ms=float(p95))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
