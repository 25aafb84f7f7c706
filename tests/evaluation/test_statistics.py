"""Intervals, paired differences and their p-values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engram.evaluation.figures import figures, figures_by_type, latency
from engram.evaluation.intervals import intervals
from engram.evaluation.metrics import Measured
from engram.evaluation.significance import Difference, Verdict, differences


def difference(of: np.ndarray, against: np.ndarray) -> Difference:
    (told,) = differences(of[:, np.newaxis], against[:, np.newaxis])
    return told


samples = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=2, max_size=30).map(np.array)


@given(samples)
@settings(max_examples=50, deadline=None)
def test_an_interval_holds_the_mean_and_stays_among_the_values(sample: np.ndarray) -> None:
    low, high = (float(end[0]) for end in intervals(sample[:, np.newaxis]))
    assert sample.min() - 1e-12 <= low <= sample.mean() <= high <= sample.max() + 1e-12


@given(samples)
@settings(max_examples=20, deadline=None)
def test_against_itself_nothing_differs(sample: np.ndarray) -> None:
    told = difference(sample, sample)
    assert (told.mean, told.low, told.high, told.p_value, told.verdict) == (0, 0, 0, 1, Verdict.as_good)


def test_an_interval_is_that_of_another_bootstrap() -> None:
    sample = np.random.default_rng(1).random(200)
    low, high = (float(end[0]) for end in intervals(sample[:, np.newaxis]))
    other = stats.bootstrap((sample,), np.mean, method="percentile", n_resamples=5000, rng=2).confidence_interval
    assert (low, high) == pytest.approx((other.low, other.high), abs=0.005)


def test_one_question_says_nothing_of_the_spread() -> None:
    told = difference(np.array([1.0]), np.array([0.0]))
    assert (told.mean, told.low, told.high, told.p_value, told.verdict) == (1, None, None, 1, Verdict.as_good)


def test_a_p_value_is_the_share_of_sign_flips_that_differ_as_much() -> None:
    signed = np.array([0.5, 0.25, 1.0, -0.25, 0.5, 0.0, 1.0])
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, signed, strict=True)))
        for signs in itertools.product([1, -1], repeat=len(signed))
    ]
    exact = np.mean([value >= abs(signed.sum()) for value in sums])
    told = difference(signed, np.zeros(len(signed)))
    assert told.p_value == pytest.approx(exact)


def test_a_clear_difference_has_a_verdict_in_both_directions() -> None:
    better, worse = np.ones(50), np.tile([0.0, 1.0], 25)
    assert difference(better, worse).verdict is Verdict.better
    assert difference(worse, better).verdict is Verdict.worse
    assert difference(better, worse).p_value < 0.001
    # The pairs count, not the sums.
    assert difference(worse, worse[::-1]).verdict is Verdict.as_good


def test_figures_over_all_and_by_type() -> None:
    measured = Measured(["p", "q", "r"], ["m"], np.array([[1.0], [0.0], [0.5]]))
    assert figures(measured).metrics["m"].mean == 0.5
    by_type = figures_by_type(measured, ["y", "x", "y"])
    assert [(kind, one.questions, one.metrics["m"].mean) for kind, one in by_type.items()] == [
        ("x", 1, 0),
        ("y", 2, 0.75),
    ]
    assert by_type["x"].metrics["m"].low is None
    assert figures_by_type(measured, ["x"] * 3) == {}


def test_latency() -> None:
    assert latency([1.0, 2.0, 3.0]).p50_ms == 2
    assert latency([float(ms) for ms in range(101)]).p95_ms == 95
