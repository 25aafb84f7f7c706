"""How far a mean over questions can be trusted: the percentile bootstrap. Pure.

Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13. The same number of questions is always
drawn in the same way, so that equal values give equal intervals.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 5_000
RANDOM_STATE = 20_260_501
_BLOCK = 250


def intervals(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends of the confidence intervals of column means; ``values`` has shape (questions, columns).

    NaN where there are fewer than two questions: nothing is known of their spread.
    """
    if len(values) < 2:
        unknown = np.full(values.shape[1], np.nan)
        return unknown, unknown
    means = _draws(len(values)) @ values / len(values)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    # Of equal values the resampled means differ from the mean in the last digit.
    mean = values.mean(axis=0)
    return np.minimum(low, mean), np.maximum(high, mean)


@lru_cache(maxsize=16)
def _draws(count: int) -> NDArray[np.float64]:
    """How often each of ``count`` questions is in each resample: shape (RESAMPLES, count)."""
    generator = np.random.default_rng(RANDOM_STATE)
    blocks = [generator.multinomial(count, np.full(count, 1 / count), size=_BLOCK) for _ in range(RESAMPLES // _BLOCK)]
    return np.concatenate([block.astype(np.float64) for block in blocks])
