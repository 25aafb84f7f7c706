"""What the rest of the server knows about embeddings: a model, and something that turns text into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Which model made a vector.

    ``dimension`` is the length of its vectors. ``max_tokens`` is how much text it reads at once, in its own
    tokens; None: any length. ``thematic_threshold`` is the cosine, in [-1, 1), at or above which two memories
    are about the same thing; each model has its own, because models spread their cosines over different
    ranges.
    """

    provider: str
    name: str
    dimension: int
    max_tokens: int | None
    thematic_threshold: float


@dataclass(frozen=True, slots=True, eq=False)
class Passages:
    """Embedded texts, in the order given.

    ``vectors`` is float32 of shape (texts, dimension), each row of length 1, or all zeros for a text in which
    there was nothing to read. ``chunks`` says in how many pieces each text was read: 1 unless it was long.
    """

    vectors: Vectors
    chunks: list[int]


class Embedder(Protocol):
    """Turns text into vectors. Safe to use from many tasks of one event loop; never blocks the loop.

    Every method raises a subclass of ``engram.embeddings.errors.EmbeddingProblem`` when the provider fails,
    and then nothing is returned for any text of the call.
    """

    @property
    def model(self) -> EmbeddingModel: ...

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        """Embed what is to be found. Any number of texts of any length."""

    async def embed_query(self, text: str) -> Vectors:
        """Embed what is asked: shape (dimension,). Do not write to it: others may hold it too."""

    async def aclose(self) -> None:
        """Give back connections and threads. The embedder is of no use afterwards."""
