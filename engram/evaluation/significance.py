"""Whether two rankings of the same questions differ by more than chance. Pure.

The p-value is that of Fisher's randomisation test, two-sided, on differences by question: Smucker, Allan and
Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation" (2007).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from scipy.stats import permutation_test

from engram.evaluation.intervals import RANDOM_STATE, intervals

RESAMPLES = 9_999
_BATCH = 500
_ROUNDING = 1e-9
"""Differences below come from adding up floats in another order."""


class Verdict(StrEnum):
    better = "better"
    as_good = "as good"
    worse = "worse"


class Difference(BaseModel):
    """``mean`` of the differences by question, in [-1, 1], its confidence interval (None where one question says
    nothing of it), and the p-value of no difference, in (0, 1]."""

    mean: float
    low: float | None
    high: float | None
    p_value: float

    @property
    def verdict(self) -> Verdict:
        """``better`` or ``worse`` where the confidence interval leaves no difference out."""
        if self.low is not None and self.low > _ROUNDING:
            return Verdict.better
        if self.high is not None and self.high < -_ROUNDING:
            return Verdict.worse
        return Verdict.as_good


def differences(of: NDArray[np.float64], against: NDArray[np.float64]) -> list[Difference]:
    """How much better each column of ``of`` is than that of ``against``.

    Both have shape (questions, columns), with the same questions in order.
    """
    by_question = of - against
    lows, highs = intervals(by_question)
    return [
        Difference(
            mean=float(column.mean()),
            low=None if np.isnan(low) else float(low),
            high=None if np.isnan(high) else float(high),
            p_value=float(p_value),
        )
        for column, low, high, p_value in zip(by_question.T, lows, highs, _p_values(by_question), strict=True)
    ]


def _p_values(by_question: NDArray[np.float64]) -> NDArray[np.float64]:
    """The p-value of each column; all are tried with the same signs, as drawing those takes most of the time."""
    # A question on which both are alike in everything has no sign to be flipped.
    told = by_question[(np.abs(by_question) > _ROUNDING).any(axis=1)]
    if len(told) < 2:
        return np.ones(by_question.shape[1])
    result = permutation_test(
        (told.T,),
        lambda sample, axis: sample.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=_BATCH,
        axis=-1,
        rng=RANDOM_STATE,
    )
    p_values: NDArray[np.float64] = np.minimum(result.pvalue, 1.0)
    return p_values
