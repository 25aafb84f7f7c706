"""The recall formula, on plain numbers. Pure.

``final = (1 - graph_weight) * vector_score + graph_weight * graph_score``; every score is finite and in [0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parts:
    """What each leg adds to a score."""

    vector: float
    graph: float

    @property
    def score(self) -> float:
        return min(1.0, self.vector + self.graph)


def vector_score(similarity: float | None) -> float:
    """``max(0, cosine)``; 0 for a zero vector, whose cosine is no number."""
    if similarity is None or math.isnan(similarity):
        return 0.0
    return min(1.0, max(0.0, similarity))


def lexical_score(bm25: float, best: float) -> float:
    """BM25 as a share of the best of the query; 0 where nothing matches."""
    return min(1.0, bm25 / best) if best > 0 and bm25 > 0 else 0.0


def blend(vector: float, graph: float, graph_weight: float) -> Parts:
    return Parts((1 - graph_weight) * vector, graph_weight * graph)
