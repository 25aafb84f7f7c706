"""Agents repeat their questions: the vectors of queries are kept, and made once when asked for at once."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Sequence

from engram.embeddings.base import Embedder, EmbeddingModel, Passages, Vectors

DEFAULT_CAPACITY = 1024
DEFAULT_BYTES = 16 * 1024 * 1024
"""Texts and vectors together. The static embedder's fill 2 MB; large models and long questions are what it bounds."""


class CachedQueries:
    """An ``Embedder`` that keeps the vectors of the last ``capacity`` different queries, read-only.

    Fewer where they would take more than ``max_bytes``. Failures are not kept.
    """

    def __init__(self, embedder: Embedder, capacity: int = DEFAULT_CAPACITY, *, max_bytes: int = DEFAULT_BYTES) -> None:
        self._embedder = embedder
        self._capacity = capacity
        self._max_bytes = max_bytes
        self._bytes = 0
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._running: dict[str, asyncio.Task[Vectors]] = {}

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        return await self._embedder.embed_passages(texts)

    async def embed_query(self, text: str) -> Vectors:
        if (vector := self._vectors.get(text)) is not None:
            self._vectors.move_to_end(text)
            return vector
        if (task := self._running.get(text)) is None:
            # A task of its own, so that the caller who came first can leave without taking the others along.
            task = asyncio.create_task(self._compute(text))
            self._running[text] = task
            task.add_done_callback(lambda done: self._finished(text, done))
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        await self._embedder.aclose()

    async def _compute(self, text: str) -> Vectors:
        vector = await self._embedder.embed_query(text)
        vector.setflags(write=False)
        return vector

    def _finished(self, text: str, task: asyncio.Task[Vectors]) -> None:
        del self._running[text]
        # Asking for the exception also tells asyncio that someone has seen it, should all callers have left.
        if not task.cancelled() and task.exception() is None:
            self._keep(text, task.result())

    def _keep(self, text: str, vector: Vectors) -> None:
        self._vectors[text] = vector
        self._bytes += _size(text, vector)
        while len(self._vectors) > self._capacity or self._bytes > self._max_bytes:
            self._bytes -= _size(*self._vectors.popitem(last=False))


def _size(text: str, vector: Vectors) -> int:
    return sys.getsizeof(text) + vector.nbytes
