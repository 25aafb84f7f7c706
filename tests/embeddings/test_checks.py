from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from engram.embeddings.checks import checked
from engram.embeddings.errors import (
    NotFiniteProblem,
    Source,
    WrongCountProblem,
    WrongDimensionProblem,
)

SOURCE = Source("openai", "some-model", "http://localhost/v1")

finite_matrices = numpy_strategies.arrays(np.float64, (3, 4), elements=st.floats(allow_nan=False, allow_infinity=False))


@given(rows=finite_matrices)
def test_every_row_comes_out_with_length_one_or_zero(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectors = checked(rows, count=3, dimension=4, source=SOURCE)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert lengths == pytest.approx(rows.any(axis=1).astype(float), abs=1e-5)


@given(rows=finite_matrices)
def test_the_direction_of_a_row_is_kept(rows):
    vectors = checked(rows, count=3, dimension=4, source=SOURCE)
    assert (np.sign(vectors) * np.sign(rows) >= 0).all()
    largest = np.abs(rows).argmax(axis=1)
    for row, at in enumerate(largest):
        assert abs(vectors[row, at]) == pytest.approx(np.abs(vectors[row]).max())


def test_a_zero_vector_stays_zero():
    vectors = checked([[0.0, 0.0], [3.0, 4.0]], count=2, dimension=2, source=SOURCE)
    assert vectors.tolist() == [[0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]


def test_no_vectors_for_no_texts():
    assert checked([], count=0, dimension=5, source=SOURCE).shape == (0, 5)


@pytest.mark.parametrize("got", [0, 2, 4])
def test_another_number_of_vectors_is_refused(got):
    with pytest.raises(WrongCountProblem, match=f"returned {got} vectors for 3 texts"):
        checked([[1.0, 0.0]] * got, count=3, dimension=2, source=SOURCE)


@pytest.mark.parametrize("rows", [[[1.0, 0.0], [1.0]], [[1.0] * 3] * 2, [[1.0, 0.0], []]])
def test_another_dimension_is_refused_in_any_row(rows):
    with pytest.raises(WrongDimensionProblem, match="where 2 were expected"):
        checked(rows, count=2, dimension=2, source=SOURCE)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(number):
    with pytest.raises(NotFiniteProblem):
        checked([[1.0, 0.0], [0.5, number]], count=2, dimension=2, source=SOURCE)
