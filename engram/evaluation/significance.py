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


def difference(of: NDArray[np.float64], against: NDArray[np.float64]) -> Difference:
    """How much better ``of`` is than ``against``; both have shape (questions,), with the same questions in order."""
    by_question = of - against
    low, high = intervals(by_question[:, np.newaxis])
    ends = [None if np.isnan(end[0]) else float(end[0]) for end in (low, high)]
    return Difference(mean=float(by_question.mean()), low=ends[0], high=ends[1], p_value=_p_value(by_question))


def _p_value(differences: NDArray[np.float64]) -> float:
    # A question on which both are alike has no sign to be flipped.
    told = differences[np.abs(differences) > _ROUNDING]
    if len(told) < 2:
        return 1.0
    result = permutation_test(
        (told,),
        lambda sample, axis: sample.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=_BATCH,
        rng=RANDOM_STATE,
    )
    return float(min(result.pvalue, 1.0))
