"""The default: static word vectors from wordllama's wheel. No key, no download, no network."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram.embeddings.base import Embedder, EmbeddingModel
from engram.embeddings.catalogue import Prefixes, prefixes_for, threshold_for
from engram.embeddings.errors import EmbedderNotReadyProblem, Source
from engram.embeddings.local import require_dimension
from engram.embeddings.pipeline import Capacity, Purpose, TextEmbedder
from engram.embeddings.tokens import utf8_bytes
from engram.settings import Settings

MODEL = "l2_supercat_256"
DIMENSION = 256
THEMATIC_THRESHOLD = 0.85

# A mean of word vectors reads text of any length. These bound the memory of one step: a token takes 1 KiB.
_PIECE_BYTES = 8 * 1024
_CALL_BYTES = 32 * 1024

_SHORT_CHARS = 512
"""Up to here a single text is embedded on the event loop: that takes less than the way to a thread and back."""


@contextmanager
def _root_logger_untouched() -> Iterator[None]:
    """wordllama calls ``logging.basicConfig`` at import, which does nothing where a handler is in place."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


with _root_logger_untouched():
    import wordllama


class StaticEncoder:
    """Means of wordllama's word vectors.

    wordllama has its own pooling, but pads a batch to its longest text and divides zero by zero for a text
    without tokens; only its weights and its tokenizer are used. Both are only read, so threads may share
    them.
    """

    def __init__(self, vectors: NDArray[np.float16], tokenizer: Any, source: Source) -> None:
        self.source = source
        self._vectors = vectors
        self._tokenizer = tokenizer

    async def encode(self, texts: Sequence[str], purpose: Purpose) -> NDArray[Any]:
        if len(texts) == 1 and len(texts[0]) <= _SHORT_CHARS:
            # Not as a batch of one: batches start a pool of threads, and wait for it.
            return self._means([self._tokenizer.encode(texts[0], add_special_tokens=False)])
        return await asyncio.to_thread(self._batch, list(texts))

    async def aclose(self) -> None:
        """Nothing is held open."""

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        return self._means(self._tokenizer.encode_batch_fast(texts, add_special_tokens=False))

    def _means(self, encodings: Sequence[Any]) -> NDArray[np.float32]:
        means = np.zeros((len(encodings), self._vectors.shape[1]), dtype=np.float32)
        for row, encoding in enumerate(encodings):
            if tokens := encoding.ids:
                means[row] = self._vectors[tokens].astype(np.float32).mean(axis=0)
        return means


async def open_embedder(settings: Settings) -> Embedder:
    """The static embedder. Raises ``EmbedderNotReadyProblem`` where the settings ask for another model."""
    source = Source("static", MODEL)
    if settings.embedding_model not in (None, MODEL):
        raise EmbedderNotReadyProblem(
            source,
            f"has no model {settings.embedding_model!r}. Unset EMBEDDING_MODEL, or set EMBEDDING_PROVIDER to "
            "the provider of that model.",
        )
    require_dimension(settings, DIMENSION, source)
    vectors, tokenizer = await asyncio.to_thread(_load)
    model = EmbeddingModel(
        provider="static",
        name=MODEL,
        dimension=DIMENSION,
        max_tokens=None,
        thematic_threshold=threshold_for(settings, THEMATIC_THRESHOLD),
    )
    capacity = Capacity(piece=_PIECE_BYTES, count=utf8_bytes, texts=1024, size=_CALL_BYTES)
    encoder = StaticEncoder(vectors, tokenizer, source)
    return TextEmbedder(encoder, model, capacity, prefixes_for(settings, Prefixes()))


def _load() -> tuple[NDArray[np.float16], Any]:
    # The wheel ships the tokenizer where the loader looks only for a cache.
    folder = Path(wordllama.__file__).parent
    loaded = wordllama.WordLlama.load(dim=DIMENSION, cache_dir=folder, disable_download=True)
    loaded.tokenizer.no_padding()
    # It would keep ten thousand texts with their tokens, tens of megabytes, and find among them only what is said again
    # to the letter. Older versions cannot be told.
    if (resize := getattr(loaded.tokenizer.model, "_resize_cache", None)) is not None:
        resize(0)
    # As they are in the wheel: wordllama makes them twice as large, and no more precise.
    return loaded.embedding.astype(np.float16), loaded.tokenizer
