"""Which memories share a theme: the nearest by embedding, at or above the model's threshold. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK_ROWS = 256


def weight(similarity: float, threshold: float) -> float:
    """Weight of a thematic edge, ``(cosine - threshold) / (1 - threshold)``: one at the threshold carries nothing."""
    return min(1.0, max(0.0, (similarity - threshold) / (1 - threshold)))


def nearest(
    vectors: NDArray[np.float32], new: NDArray[np.intp], threshold: float, degree: int
) -> list[tuple[int, int, float]]:
    """Pairs ``(new, neighbour, cosine)``, by position in ``vectors``: for each new one its ``degree`` nearest above the
    threshold.

    ``vectors`` has shape (n, dimension) and rows of length 1, or of zeros, which are near nothing. Of equally near
    ones those that stand first are taken.
    """
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(new), _BLOCK_ROWS):
        rows = new[start : start + _BLOCK_ROWS]
        similarities = vectors[rows] @ vectors.T
        similarities[np.arange(len(rows)), rows] = -np.inf
        for row, at in zip(rows, similarities, strict=True):
            above = np.flatnonzero(at > threshold)
            best = above[np.argsort(-at[above], kind="stable")[:degree]]
            pairs.extend((int(row), int(other), float(at[other])) for other in best)
    return pairs
