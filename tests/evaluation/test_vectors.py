"""Embeddings that are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engram.embeddings.base import Passages
from engram.evaluation.vectors import KeptEmbeddings, VectorStore
from tests.fixtures.wiring import HashEmbedder


class Counting(HashEmbedder):
    """Says which texts it was given, and that a long one was read in pieces."""

    seen: list[str]

    async def embed_passages(self, texts: list[str]) -> Passages:  # type: ignore[override]
        self.seen = [*getattr(self, "seen", []), *texts]
        embedded = await super().embed_passages(texts)
        return Passages(embedded.vectors, [len(text) for text in texts])


async def test_no_text_is_embedded_twice_also_in_another_run(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "vectors.sqlite3"
    texts = ["a", "bb", "a", *(f"text {at}" for at in range(700))]
    made: list[Passages] = []
    for expected in (len(set(texts)), 0):
        embedder, store = Counting(), VectorStore(path, "model")
        kept = KeptEmbeddings(embedder, store)
        done: list[int] = []
        kept.progress = done.append
        made.append(await kept.embed_passages(texts))
        assert len(getattr(embedder, "seen", [])) == expected
        assert sum(done) == len(texts)
        store.close()
    straight = await Counting().embed_passages(texts)
    for one in made:
        np.testing.assert_array_equal(one.vectors, straight.vectors)
        assert one.chunks == straight.chunks


async def test_a_question_is_not_a_passage_and_a_model_is_not_another(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    store = VectorStore(tmp_path / "v", "one")
    await KeptEmbeddings(embedder, store).embed_query("a")
    kept = KeptEmbeddings(embedder, store)
    await kept.embed_query("a")
    await kept.embed_query("a")
    assert embedder.calls == 1
    await kept.embed_passages(["a"])
    assert embedder.calls == 2
    await KeptEmbeddings(embedder, VectorStore(tmp_path / "v", "other")).embed_query("a")
    assert embedder.calls == 3


async def test_an_interrupted_run_keeps_what_it_had(tmp_path: Path) -> None:
    class Failing(HashEmbedder):
        async def embed_passages(self, texts: list[str]) -> Passages:  # type: ignore[override]
            if "last" in texts:
                raise TimeoutError
            return await super().embed_passages(texts)

    texts = [*(f"text {at}" for at in range(64)), "last"]
    with pytest.raises(TimeoutError):
        await KeptEmbeddings(Failing(), VectorStore(tmp_path / "v", "m")).embed_passages(texts)
    assert len(VectorStore(tmp_path / "v", "m").get("passage", texts)) == 64


async def test_without_a_store_questions_are_kept_all_the_same() -> None:
    embedder = HashEmbedder()
    kept = KeptEmbeddings(embedder, None)
    first, second = await kept.embed_query("a"), await kept.embed_query("a")
    assert embedder.calls == 1
    np.testing.assert_array_equal(first, second)
    assert kept.model == embedder.model
