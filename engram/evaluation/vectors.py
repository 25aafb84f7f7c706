"""Embeddings that are kept: questions for as long as a run takes, and what a slow model made also between runs."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from engram.embeddings.base import Embedder, EmbeddingModel, Passages, Vectors

_PIECE = 64
"""Texts embedded before they are kept: what an interruption loses."""

_ASKED = 500

Kept = tuple[int, Vectors]
"""Number of chunks, and the vector."""


class VectorStore:
    """Vectors on disk by text, of one embedder; ``identity`` tells it from all others."""

    def __init__(self, path: Path, identity: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._identity = identity
        # SQLite keeps the file whole whoever writes and whenever that ends. Only one call at a time comes here.
        self._file = sqlite3.connect(path, timeout=60, check_same_thread=False)
        with self._file:
            self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, chunks INT, vector BLOB)")

    def get(self, purpose: str, texts: Sequence[str]) -> dict[str, Kept]:
        """Those of the texts that are known."""
        keys = {self._key(purpose, text): text for text in texts}
        found: dict[str, Kept] = {}
        for some in _pieces(list(keys), _ASKED):
            marks = ",".join("?" * len(some))
            with closing(self._file.execute(f"SELECT * FROM vectors WHERE key IN ({marks})", some)) as rows:
                found |= {keys[key]: (chunks, np.frombuffer(vector, "<f4").copy()) for key, chunks, vector in rows}
        return found

    def put(self, purpose: str, made: dict[str, Kept]) -> None:
        rows = [
            (self._key(purpose, text), chunks, vector.astype("<f4").tobytes())
            for text, (chunks, vector) in made.items()
        ]
        with self._file:
            self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        self._file.close()

    def _key(self, purpose: str, text: str) -> bytes:
        return hashlib.sha256("\0".join((self._identity, purpose, text)).encode()).digest()


class KeptEmbeddings:
    """An ``Embedder`` over another, which it does not close. ``progress`` is told of texts as they are embedded."""

    def __init__(self, embedder: Embedder, store: VectorStore | None) -> None:
        self._embedder = embedder
        self._store = store
        self._questions: dict[str, Vectors] = {}
        self.progress: Callable[[int], object] = lambda texts: None

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        known = self._known("passage", texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        self.progress(len(texts) - len(missing))
        for some in _pieces(missing, _PIECE if self._store is not None else max(len(missing), 1)):
            embedded = await self._embedder.embed_passages(some)
            made = dict(zip(some, zip(embedded.chunks, embedded.vectors, strict=True), strict=True))
            known |= made
            self._keep("passage", made)
            self.progress(len(some))
        return Passages(np.stack([known[text][1] for text in texts]), [known[text][0] for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        if text not in self._questions:
            known = self._known("query", [text])
            if text not in known:
                known[text] = (1, await self._embedder.embed_query(text))
                self._keep("query", known)
            self._questions[text] = known[text][1]
        return self._questions[text]

    async def aclose(self) -> None:
        """Whoever opened the embedder closes it."""

    def _known(self, purpose: str, texts: Sequence[str]) -> dict[str, Kept]:
        return self._store.get(purpose, texts) if self._store is not None else {}

    def _keep(self, purpose: str, made: dict[str, Kept]) -> None:
        if self._store is not None:
            self._store.put(purpose, made)


def _pieces(items: Sequence[bytes] | Sequence[str], size: int) -> Iterator[list]:  # type: ignore[type-arg]
    return (list(items[start : start + size]) for start in range(0, len(items), size))
