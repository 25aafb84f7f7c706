"""The one gate that every provider's output passes, so that no wrong vector reaches the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram.embeddings.base import Vectors
from engram.embeddings.errors import NotFiniteProblem, Source, WrongCountProblem, WrongDimensionProblem


def checked(
    vectors: Sequence[Sequence[float]] | NDArray[Any], *, count: int, dimension: int, source: Source
) -> Vectors:
    """``vectors`` as float32 of shape (count, dimension), each row of length 1; a zero row stays zero.

    Raises ``WrongCountProblem``, ``WrongDimensionProblem`` or ``NotFiniteProblem``.
    """
    if len(vectors) != count:
        raise WrongCountProblem(source, expected=count, got=len(vectors))
    for vector in vectors:
        if len(vector) != dimension:
            raise WrongDimensionProblem(source, expected=dimension, got=len(vector))
    rows = np.asarray(vectors, dtype=np.float64).reshape(count, dimension)
    if not np.isfinite(rows).all():
        raise NotFiniteProblem(source)
    return unit(rows)


def unit(rows: NDArray[Any]) -> Vectors:
    """Each row of a finite matrix divided by its length, as float32; a zero row stays zero."""
    # By the greatest component first: the square of a very large or very small number leaves the floats.
    rows = rows / _or_one(np.abs(rows).max(axis=1, keepdims=True, initial=0.0))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / _or_one(lengths), dtype=np.float32)


def unit_vector(values: Sequence[float]) -> Vectors:
    """A finite vector divided by its length, as float32; a zero vector stays zero."""
    row: Vectors = unit(np.asarray([values], dtype=np.float64))[0]
    return row


def _or_one(divisors: NDArray[Any]) -> NDArray[Any]:
    return np.where(divisors == 0, 1.0, divisors)
