"""The postings of new memories, as arrays to be unnested. Pure, and work for a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from engram.memories.rows import IndexedTerms
from engram.text.terms import MAX_FREQUENCY

ROWS_A_STATEMENT = 10_000
"""A batch of a thousand memories has fifty thousand postings. The driver encodes those of one statement at a stretch,
and nothing else is answered meanwhile."""


class Part(NamedTuple):
    """Columns: terms, whose they are (from 1 on, into ``Postings.ids``), and how often each stands there."""

    terms: list[str]
    owners: list[int]
    frequencies: list[int]


class Postings:
    """Rows of ``memory_terms`` for new memories of one agent, sorted by their key."""

    def __init__(self, terms: Mapping[UUID, IndexedTerms]) -> None:
        self.ids = sorted(terms, key=lambda id: id.int)
        self.lengths = [terms[id].length for id in self.ids]
        """Words of each text."""
        rows = []
        for owner, id in enumerate(self.ids, start=1):
            indexed = terms[id]
            rows += [(term, owner, min(count, MAX_FREQUENCY)) for term, count in indexed.words.items()]
            rows += [(term, owner, 0) for term in indexed.unworded]
        # Python compares code points, which is the order of UTF-8 bytes, and of the column.
        rows.sort()
        self._rows = rows

    def parts(self) -> Iterator[Part]:
        for start in range(0, len(self._rows), ROWS_A_STATEMENT):
            terms, owners, frequencies = zip(*self._rows[start : start + ROWS_A_STATEMENT], strict=True)
            yield Part(list(terms), list(owners), list(frequencies))
