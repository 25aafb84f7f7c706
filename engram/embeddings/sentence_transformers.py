"""Any sentence-transformers model, by name or in a local folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from engram.embeddings.base import Embedder, EmbeddingModel
from engram.embeddings.catalogue import Prefixes, prefixes_for, threshold_for, traits_of
from engram.embeddings.errors import Source
from engram.embeddings.local import LONGEST_PIECE, Worker, load_model, require_dimension
from engram.embeddings.pipeline import Capacity, Purpose, TextEmbedder
from engram.embeddings.tokens import Counter, counter_of, estimated_tokens
from engram.settings import Settings

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"

# Small, because a query waits for the call under way.
_CALL_TEXTS = 32
_CALL_BYTES = 16 * 1024


class SentenceTransformersEncoder:
    def __init__(self, model: SentenceTransformer, source: Source, worker: Worker) -> None:
        self.source = source
        self._model = model
        self._worker = worker

    async def encode(self, texts: Sequence[str], purpose: Purpose) -> NDArray[Any]:
        return await self._worker.run(self._encode, list(texts), purpose)

    async def aclose(self) -> None:
        self._worker.close()

    def _encode(self, texts: list[str], purpose: Purpose) -> NDArray[Any]:
        # Some models have a network for each. The text has its prefix: the empty prompt keeps a second one
        # out.
        encode = self._model.encode_query if purpose == "query" else self._model.encode_document
        return np.asarray(encode(texts, prompt="", batch_size=len(texts), show_progress_bar=False))


async def open_embedder(settings: Settings) -> Embedder:
    """A model by its name on the hub, or from a folder. Raises ``EmbedderNotReadyProblem``."""
    name = settings.embedding_model or DEFAULT_MODEL
    source = Source("sentence-transformers", name)
    worker = Worker()
    try:
        loaded = await worker.run(_load, name, source)
        encoder = SentenceTransformersEncoder(loaded, source, worker)
        dimension = (await encoder.encode(["dimension"], "passage")).shape[1]
        require_dimension(settings, dimension, source)
    except BaseException:
        worker.close()
        raise
    traits = traits_of(name)
    max_tokens = int(loaded.max_seq_length or traits.max_tokens)
    model = EmbeddingModel(
        provider="sentence-transformers",
        name=name,
        dimension=dimension,
        max_tokens=max_tokens,
        thematic_threshold=threshold_for(settings, traits.thematic_threshold),
    )
    framing, count = _tokens(loaded)
    capacity = Capacity(
        piece=min(max_tokens, LONGEST_PIECE) - framing, count=count, texts=_CALL_TEXTS, size=_CALL_BYTES
    )
    return TextEmbedder(encoder, model, capacity, prefixes_for(settings, _prefixes(loaded, traits.prefixes)))


def _load(name: str, source: Source) -> SentenceTransformer:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return load_model(source, lambda local: SentenceTransformer(str(folder)), downloadable=False)
    return load_model(source, lambda local: SentenceTransformer(name, local_files_only=local))


def _tokens(model: SentenceTransformer) -> tuple[int, Counter]:
    """How many special tokens frame a text, and how to count the others."""
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:  # a tokenizer written in Python, or none
        return 2, estimated_tokens
    return tokenizer.num_special_tokens_to_add(is_pair=False), counter_of(tokenizer)


def _prefixes(model: SentenceTransformer, known: Prefixes) -> Prefixes:
    """What the model's own files ask for; where they ask for nothing, what is known of it."""
    prompts = model.prompts
    passage = next((prompts[name] for name in ("document", "passage", "corpus") if prompts.get(name)), None)
    return Prefixes(query=prompts.get("query") or known.query, passage=passage or known.passage)
