"""Choosing hits that do not repeat each other. Pure.

Maximal marginal relevance, Carbonell and Goldstein (1998): each next hit maximises
``(1 - diversity) * score - diversity * (greatest cosine to a hit already chosen)``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

POOL = 4
"""Candidates per wanted hit that a diverse answer chooses from."""


def choose(scores: Sequence[float], vectors: NDArray[np.float32], diversity: float, count: int) -> list[int]:
    """Positions of at most ``count`` candidates, in the order chosen; equal ones in the order given.

    ``vectors`` has shape (candidates, dimension), with rows of length 1 or of zeros.
    """
    relevance = (1 - diversity) * np.asarray(scores, dtype=np.float64)
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < min(count, len(scores)):
        gains = np.where(left, relevance - diversity * nearest, -np.inf)
        best = int(gains.argmax())
        chosen.append(best)
        left[best] = False
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return chosen
