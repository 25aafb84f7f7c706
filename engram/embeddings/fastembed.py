"""ONNX models on the CPU, through fastembed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from fastembed import TextEmbedding
from numpy.typing import NDArray

from engram.embeddings.base import Embedder, EmbeddingModel
from engram.embeddings.catalogue import prefixes_for, threshold_for, traits_of
from engram.embeddings.errors import EmbedderNotReadyProblem, Source
from engram.embeddings.local import LONGEST_PIECE, Worker, load_model, require_dimension
from engram.embeddings.pipeline import Capacity, Purpose, TextEmbedder
from engram.embeddings.tokens import counter_of
from engram.settings import Settings

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"

# Small, because a query waits for the call under way.
_CALL_TEXTS = 32
_CALL_BYTES = 16 * 1024


# What it logs as errors it raises too, and its lines would be the only ones in a format of their own.
import_module("loguru").logger.disable("fastembed")


class FastembedEncoder:
    def __init__(self, model: TextEmbedding, source: Source, worker: Worker) -> None:
        self.source = source
        self._model = model
        self._worker = worker

    async def encode(self, texts: Sequence[str], purpose: Purpose) -> NDArray[Any]:
        return await self._worker.run(self._encode, list(texts), purpose)

    async def aclose(self) -> None:
        self._worker.close()

    def _encode(self, texts: list[str], purpose: Purpose) -> NDArray[Any]:
        # Most models treat both alike; some have a head for each.
        embed = self._model.query_embed if purpose == "query" else self._model.passage_embed
        return np.stack(list(embed(texts, batch_size=len(texts))))


async def open_embedder(settings: Settings) -> Embedder:
    """A model that fastembed knows. Raises ``EmbedderNotReadyProblem``."""
    name = settings.embedding_model or DEFAULT_MODEL
    source = Source("fastembed", name)
    worker = Worker()
    try:
        loaded = await worker.run(_load, name, settings, source)
        encoder = FastembedEncoder(loaded, source, worker)
        dimension = (await encoder.encode(["dimension"], "passage")).shape[1]
        require_dimension(settings, dimension, source)
    except BaseException:
        worker.close()
        raise
    tokenizer = loaded.model.tokenizer
    traits = traits_of(name)
    max_tokens = int((tokenizer.truncation or {}).get("max_length", traits.max_tokens))
    model = EmbeddingModel(
        provider="fastembed",
        name=name,
        dimension=dimension,
        max_tokens=max_tokens,
        thematic_threshold=threshold_for(settings, traits.thematic_threshold),
    )
    piece = min(max_tokens, LONGEST_PIECE) - tokenizer.num_special_tokens_to_add(is_pair=False)
    capacity = Capacity(piece=piece, count=counter_of(tokenizer), texts=_CALL_TEXTS, size=_CALL_BYTES)
    return TextEmbedder(encoder, model, capacity, prefixes_for(settings, traits.prefixes))


def _load(name: str, settings: Settings, source: Source) -> TextEmbedding:
    known = {str(description["model"]) for description in TextEmbedding.list_supported_models()}
    if name.lower() not in {model.lower() for model in known}:
        raise EmbedderNotReadyProblem(
            source,
            "does not have that model. It has: " + ", ".join(sorted(known)) + ". Others run with "
            "EMBEDDING_PROVIDER=sentence-transformers.",
        )
    # By itself fastembed keeps models in the temporary folder, which a restart of the machine may empty.
    cache = os.environ.get("FASTEMBED_CACHE_PATH") or str(settings.data_dir / "models" / "fastembed")
    return load_model(source, lambda local: TextEmbedding(name, cache_dir=cache, local_files_only=local))
