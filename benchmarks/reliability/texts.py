"""What is written and asked: memories of the benchmarks' corpus, each with a word of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from benchmarks.corpus import Corpus, Shape

_SHAPE = Shape(100_000)


class Texts:
    """``run`` is a word that no other run has, so that one data directory can serve many."""

    def __init__(self, run: str) -> None:
        self._run = run
        self.corpus = Corpus(_SHAPE)
        self._numbers = count()

    def items(self, number: int) -> list[dict[str, Any]]:
        return [next(self._items) for _ in range(number)]

    def question(self, text: str, random: Random) -> str:
        """A question that nobody asked before, with all words of a text: its vector is in no cache."""
        return f"{text} {random.getrandbits(64):x}?"

    @property
    def _items(self) -> Iterator[dict[str, Any]]:
        for number in self._numbers:
            item = next(self.corpus.memories(number % _SHAPE.memories, 1))
            yield {**item, "content": f"{item['content']} Mark {self._run}x{number:x}."}
