"""Vectors that follow from a text alone: texts that share words lie near each other. Pure."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import COMMON

DIMENSION = 128

_COMMON = frozenset(COMMON)


def vector_of(text: str) -> list[float]:
    """The normalised sum of the vectors of its words; words that say nothing count only where there are no others."""
    words = re.findall(r"\w+", text.lower())
    telling = [word for word in words if word not in _COMMON] or words or [""]
    total = np.sum([_word(word) for word in telling], axis=0)
    vector: list[float] = (total / np.linalg.norm(total)).tolist()
    return vector


@lru_cache(maxsize=50_000)
def _word(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION)
