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
        near, others = np.nonzero(similarities > threshold)
        found = similarities[near, others]
        order = np.lexsort((others, -found, near))
        # How many of the same row stand before each: the first `degree` of a row are its nearest.
        place = np.arange(len(order)) - np.searchsorted(near[order], near[order])
        best = order[place < degree]
        pairs.extend(zip(rows[near[best]].tolist(), others[best].tolist(), found[best].tolist(), strict=True))
    return pairs
