"""What a run is given: the stores, the one to measure, and how many questions to ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.figures import Figure, Sheet
from benchmarks.store import Store, Stores
from engram.embeddings.base import Embedder, Vectors
from engram.embeddings.cache import DEFAULT_CAPACITY


@dataclass(frozen=True, slots=True)
class Bench:
    stores: Stores
    store: Store
    questions: int

    def sheet(self, run: str) -> Sheet:
        return Sheet(run, self.store.size)

    def asked(self, seed: int) -> list[str]:
        """Questions; each seed has others, so that no cache of queries knows them."""
        return self.store.corpus.questions(self.questions, seed=seed)


Measure = Callable[[Bench], Awaitable[list[Figure]]]


async def vectors_of(embedder: Embedder, questions: list[str]) -> list[Vectors]:
    """The vectors of questions, made beforehand, and forgotten by the embedder's cache again."""
    vectors = [await embedder.embed_query(question) for question in questions]
    for number in range(DEFAULT_CAPACITY):
        await embedder.embed_query(f"forget {number}")
    return vectors
