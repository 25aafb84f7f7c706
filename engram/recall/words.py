"""What a query's words are worth in each candidate: BM25 on packed terms. Pure.

Okapi BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). What is no
word of a text, a field or a phrase, is held without a frequency and counts by its rarity alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engram.recall.scoring import Column
from engram.recall.tuning import RecallTuning
from engram.text.lexemes import RECORD, hashes, unpack


class AskedWords:
    """The terms of a query with what each weighs: its idf times the weight that the query gives it."""

    def __init__(self, weights: Mapping[str, float], average_length: float, tuning: RecallTuning) -> None:
        terms = np.array(list(weights), dtype=object)
        codes = hashes(weights)
        order = np.argsort(codes)
        self._terms = terms[order]
        self._hashes = codes[order]
        self._weights = np.array(list(weights.values()), dtype=np.float64)[order]
        self._average_length = average_length
        self._k1, self._b = tuning.bm25_k1, tuning.bm25_b

    def score(self, lexemes: Sequence[bytes], lengths: Sequence[int]) -> Column:
        """BM25 of each text, shape (texts,), from its packed terms and its length in words."""
        texts, places, frequencies = self._shared(lexemes)
        length = np.asarray(lengths, dtype=np.float64)[texts]
        norm = self._k1 * ((1 - self._b) + self._b * length / self._average_length)
        worded = frequencies > 0
        saturation = np.ones(len(texts))
        saturation[worded] = frequencies[worded] * (self._k1 + 1) / (frequencies[worded] + norm[worded])
        scores: Column = np.zeros(len(lexemes))
        np.add.at(scores, texts, self._weights[places] * saturation)
        return scores

    def held(self, lexemes: bytes) -> list[str]:
        """The terms of the query that a text has, in order."""
        _, places, _ = self._shared([lexemes])
        return sorted(self._terms[places])

    def _shared(self, lexemes: Sequence[bytes]) -> tuple[NDArray[np.intp], NDArray[np.intp], Column]:
        """Text, place among the query's terms, and frequency of each term that the query and a text have both."""
        records = unpack(b"".join(lexemes))
        nothing = np.zeros(0, dtype=np.intp)
        if not len(self._hashes) or not len(records):
            return nothing, nothing, np.zeros(0)
        codes = records["hash"].astype(np.uint64)
        places = np.minimum(np.searchsorted(self._hashes, codes), len(self._hashes) - 1)
        shared = np.flatnonzero(self._hashes[places] == codes)
        ends = np.cumsum([len(packed) // RECORD.itemsize for packed in lexemes])
        texts = np.searchsorted(ends, shared, side="right")
        return texts, places[shared], records["frequency"][shared].astype(np.float64)
