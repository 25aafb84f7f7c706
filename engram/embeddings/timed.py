"""An embedder that says how long it takes and how often it fails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engram.embeddings.base import Embedder, EmbeddingModel, Passages, Vectors
from engram.problems import Problem
from engram.telemetry.counting import embedded
from engram.telemetry.names import Purpose


class TimedEmbedder:
    """An ``Embedder`` that is another one, watched."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        with _timed("passage"):
            return await self._embedder.embed_passages(texts)

    async def embed_query(self, text: str) -> Vectors:
        with _timed("query"):
            return await self._embedder.embed_query(text)

    async def aclose(self) -> None:
        await self._embedder.aclose()


@contextmanager
def _timed(purpose: Purpose) -> Iterator[None]:
    """A caller who leaves is no failure, and what was cut short says nothing of how long it takes."""
    started = time.perf_counter()
    try:
        yield
    except Exception as error:
        problem = error.type if isinstance(error, Problem) else Problem.type
        embedded(purpose, time.perf_counter() - started, problem=problem)
        raise
    embedded(purpose, time.perf_counter() - started)
