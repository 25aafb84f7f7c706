"""The candidates of a recall as they come in, scored by what the query says of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from engram.recall.naming import Named
from engram.recall.ranking import Legs
from engram.recall.scoring import Column
from engram.recall.words import AskedWords


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Columns over candidates. ``similarities`` are cosines, no number for a zero vector; ``lexemes`` are packed as
    ``engram.text.lexemes`` says, and empty where no words were asked for."""

    ids: Sequence[UUID]
    similarities: Column
    lengths: Sequence[int]
    lexemes: Sequence[bytes]


class Pool:
    """What the arms find comes first: the best BM25 among it is what a lexical score of 1 means."""

    def __init__(self, found: Candidates, words: AskedWords, named: Mapping[UUID, Named]) -> None:
        self._words = words
        self._named = named
        self._ids = list(found.ids)
        self._lexemes = dict(zip(found.ids, found.lexemes, strict=True))
        self._similarities = found.similarities
        self._bm25 = words.score(found.lexemes, found.lengths)
        self._best = float(self._bm25.max(initial=0.0))

    def add(self, walked: Candidates) -> None:
        """Candidates that the walk came to; those that are here already stay as they are."""
        new = [place for place, id in enumerate(walked.ids) if id not in self._lexemes]
        lexemes = [walked.lexemes[place] for place in new]
        bm25 = self._words.score(lexemes, [walked.lengths[place] for place in new])
        self._ids += [walked.ids[place] for place in new]
        self._lexemes |= {walked.ids[place]: packed for place, packed in zip(new, lexemes, strict=True)}
        self._similarities = np.concatenate([self._similarities, walked.similarities[new]])
        self._bm25 = np.concatenate([self._bm25, bm25])

    def __len__(self) -> int:
        return len(self._ids)

    def legs(self) -> Legs:
        return Legs.of(self._ids, self._similarities, self._bm25, self._best, self._named)

    def terms(self, id: UUID) -> list[str]:
        """The terms of the query that a candidate has."""
        return self._words.held(self._lexemes[id])
