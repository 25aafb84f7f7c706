"""From texts to vectors, the same for every provider: prefix, divide, batch, encode, check, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from engram.embeddings.base import EmbeddingModel, Passages, Vectors
from engram.embeddings.catalogue import Prefixes
from engram.embeddings.checks import checked
from engram.embeddings.chunking import combine, is_blank, split
from engram.embeddings.errors import Source, TextTooLongProblem
from engram.embeddings.tokens import Counter, utf8_bytes

Purpose = Literal["query", "passage"]

# Below this a piece says too little to be worth embedding; a provider that refuses it has another complaint.
_SMALLEST_PIECE = 32


class Encoder(Protocol):
    """What a provider has to do: vectors for a few texts that each fit. The rest is shared."""

    @property
    def source(self) -> Source: ...

    async def encode(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]] | NDArray[Any]:
        """One vector per text, in order, as the provider gave them."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a provider takes: ``piece`` tokens a text, by ``count``; ``texts`` and ``size`` bytes a call.

    A single text always goes in a call, whatever its size.
    """

    piece: int
    count: Counter
    texts: int
    size: int


class TextEmbedder:
    """An ``Embedder`` over an ``Encoder``."""

    def __init__(self, encoder: Encoder, model: EmbeddingModel, capacity: Capacity, prefixes: Prefixes) -> None:
        self.model = model
        self._encoder = encoder
        self._capacity = capacity
        self._prefixes = prefixes

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        return await self._embed(texts, "passage", self._prefixes.passage)

    async def embed_query(self, text: str) -> Vectors:
        embedded = await self._embed([text], "query", self._prefixes.query)
        vector: Vectors = embedded.vectors[0]
        return vector

    async def aclose(self) -> None:
        await self._encoder.aclose()

    async def _embed(self, texts: Sequence[str], purpose: Purpose, prefix: str) -> Passages:
        limit = self._capacity.piece - (self._capacity.count([prefix])[0] if prefix else 0)
        while True:
            limit = max(limit, _SMALLEST_PIECE)
            pieces = await self._divided(texts, limit)
            flat = [piece for parts in pieces for piece in parts]
            try:
                vectors = await self._encoded(flat, purpose, prefix)
            except TextTooLongProblem:
                # Where tokens can only be estimated, unusual text may have twice as many.
                if limit == _SMALLEST_PIECE:
                    raise
                limit //= 2
            else:
                return Passages(combine(vectors, pieces), [len(parts) for parts in pieces])

    async def _divided(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        if all(size <= limit for size in utf8_bytes(texts)):
            return [[text] for text in texts]
        count = self._capacity.count
        return await asyncio.to_thread(lambda: [split(text, limit, count) for text in texts])

    async def _encoded(self, pieces: Sequence[str], purpose: Purpose, prefix: str) -> Vectors:
        vectors = np.zeros((len(pieces), self.model.dimension), dtype=np.float32)
        readable = [index for index, piece in enumerate(pieces) if not is_blank(piece)]
        for batch in self._batches(pieces, readable):
            vectors[batch] = checked(
                await self._encoder.encode([prefix + pieces[index] for index in batch], purpose),
                count=len(batch),
                dimension=self.model.dimension,
                source=self._encoder.source,
            )
        return vectors

    def _batches(self, pieces: Sequence[str], indices: Sequence[int]) -> Iterator[list[int]]:
        """Indices by call. Pieces of like length go together, as models pad a batch to its longest text."""
        sizes = dict(zip(indices, utf8_bytes([pieces[index] for index in indices]), strict=True))
        batch: list[int] = []
        total = 0
        for index in sorted(indices, key=sizes.__getitem__):
            if batch and (len(batch) == self._capacity.texts or total + sizes[index] > self._capacity.size):
                yield batch
                batch, total = [], 0
            batch.append(index)
            total += sizes[index]
        if batch:
            yield batch
