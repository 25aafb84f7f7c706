"""The recall formula, on columns of candidates. Pure.

``final = (1 - graph_weight) * vector_score + graph_weight * graph_score``; every score is finite and in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Parts:
    """What each leg adds to one score."""

    vector: float
    graph: float

    @property
    def score(self) -> float:
        return min(1.0, self.vector + self.graph)


def vector_scores(similarities: Column) -> Column:
    """``max(0, cosine)``; 0 for a zero vector, whose cosine is no number."""
    # Of a number and no number, fmax takes the number.
    scores: Column = np.minimum(np.fmax(similarities, 0.0), 1.0)
    return scores


def lexical_scores(bm25: Column, best: float) -> Column:
    """BM25 as a share of the best of the query; 0 where nothing matches."""
    return np.minimum(bm25 / best, 1.0) if best > 0 else np.zeros(len(bm25))


def final_scores(vector: Column, graph: Column, graph_weight: float) -> Column:
    return np.minimum((1 - graph_weight) * vector + graph_weight * graph, 1.0)


def parts_of(vector: float, graph: float, graph_weight: float) -> Parts:
    """What one candidate's two scores add to its final one."""
    return Parts((1 - graph_weight) * vector, graph_weight * graph)
