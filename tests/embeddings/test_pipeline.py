from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.embeddings.base import EmbeddingModel
from engram.embeddings.catalogue import Prefixes
from engram.embeddings.errors import Source, TextTooLongProblem, WrongCountProblem
from engram.embeddings.pipeline import Capacity, Purpose, TextEmbedder
from engram.embeddings.tokens import utf8_bytes
from tests.embeddings.provider import DIMENSION, vector_of

SOURCE = Source("test", "vectors-of-texts")


class Recorder:
    """An encoder whose vectors depend on the text alone, and which remembers its calls."""

    source = SOURCE

    def __init__(self, longest: int | None = None) -> None:
        self.calls: list[list[str]] = []
        self.purposes: list[Purpose] = []
        self._longest = longest

    async def encode(self, texts: Sequence[str], purpose: Purpose) -> Any:
        self.calls.append(list(texts))
        self.purposes.append(purpose)
        if self._longest is not None and max(map(len, texts)) > self._longest:
            raise TextTooLongProblem(self.source, "refused a text as too long.")
        return [vector_of(text) for text in texts]

    async def aclose(self) -> None:
        """Nothing is open."""


NO_PREFIXES = Prefixes()


def embedder(
    encoder: Recorder,
    piece: int = 1000,
    texts: int = 4,
    size: int = 10_000,
    prefixes: Prefixes = NO_PREFIXES,
) -> TextEmbedder:
    model = EmbeddingModel("test", "vectors-of-texts", DIMENSION, piece, 0.5)
    return TextEmbedder(encoder, model, Capacity(piece, utf8_bytes, texts, size), prefixes)


@given(texts=st.lists(st.sampled_from(["a", "bb", "ccc ccc", "", "d" * 30, "\n", "外币"]), max_size=20))
async def test_vectors_come_in_the_order_of_the_texts(texts):
    passages = await embedder(Recorder()).embed_passages(texts)
    assert passages.vectors.shape == (len(texts), DIMENSION)
    assert passages.chunks == [1] * len(texts)
    for text, vector in zip(texts, passages.vectors, strict=True):
        assert vector == pytest.approx(vector_of(text) if text.strip() else [0] * DIMENSION, abs=1e-6)


@given(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=30))
async def test_no_call_is_larger_than_the_provider_takes(lengths):
    encoder = Recorder()
    await embedder(encoder, texts=4, size=50).embed_passages(["x" * length for length in lengths])
    assert sum(map(len, encoder.calls)) == len(lengths)
    for call in encoder.calls:
        assert len(call) == 1 or (len(call) <= 4 and sum(map(len, call)) <= 50)


async def test_short_texts_share_calls():
    encoder = Recorder()
    await embedder(encoder, texts=256).embed_passages([f"text {number}" for number in range(600)])
    assert [len(call) for call in encoder.calls] == [256, 256, 88]


async def test_texts_of_like_length_share_a_call():
    encoder = Recorder()
    await embedder(encoder, texts=2).embed_passages(["long " * 20, "a", "longer " * 20, "b"])
    assert encoder.calls == [["a", "b"], ["long " * 20, "longer " * 20]]


async def test_pieces_of_a_long_text_share_calls_with_other_texts():
    encoder = Recorder()
    passages = await embedder(encoder, piece=100, texts=256).embed_passages(["word " * 100, "short"])
    assert passages.chunks == [5, 1]
    assert len(encoder.calls) == 1
    assert len(encoder.calls[0]) == 6


async def test_a_long_text_is_near_what_it_is_made_of():
    passages = await embedder(Recorder(), piece=100).embed_passages(["first " * 16 + "second " * 3, "other"])
    assert passages.chunks == [2, 1]
    assert np.linalg.norm(passages.vectors[0]) == pytest.approx(1, abs=1e-6)
    first = np.array(vector_of("first " * 16), dtype=np.float32)
    assert passages.vectors[0] @ first > 0.8


async def test_text_with_nothing_to_read_is_zero_and_asks_nobody():
    encoder = Recorder()
    subject = embedder(encoder)
    passages = await subject.embed_passages(["", " \n", "\u200b"])
    assert not passages.vectors.any()
    assert not (await subject.embed_query("  ")).any()
    assert encoder.calls == []


async def test_no_texts_make_no_vectors():
    passages = await embedder(Recorder()).embed_passages([])
    assert passages.vectors.shape == (0, DIMENSION)
    assert passages.chunks == []


async def test_queries_and_passages_get_their_prefix():
    encoder = Recorder()
    subject = embedder(encoder, piece=110, prefixes=Prefixes("query: ", "passage: "))
    await subject.embed_query("who?")
    await subject.embed_passages(["word " * 40])
    assert encoder.calls[0] == ["query: who?"]
    assert all(text.startswith("passage: word") for text in encoder.calls[1])
    assert all(len(text) <= 110 for text in encoder.calls[1])
    assert encoder.purposes == ["query", "passage"]


async def test_text_that_the_provider_finds_too_long_is_divided_further():
    encoder = Recorder(longest=60)
    text = "word " * 100
    passages = await embedder(encoder, piece=200).embed_passages([text, "short"])
    assert passages.chunks[0] >= 500 / 60
    assert passages.chunks[1] == 1
    assert passages.vectors[1] == pytest.approx(vector_of("short"), abs=1e-6)


async def test_a_provider_that_finds_everything_too_long_is_believed_in_the_end():
    encoder = Recorder(longest=3)
    with pytest.raises(TextTooLongProblem):
        await embedder(encoder, piece=256).embed_passages(["some text"])
    assert len(encoder.calls) < 10


async def test_what_the_encoder_returns_is_checked():
    class Forgetful(Recorder):
        async def encode(self, texts: Sequence[str], purpose: Purpose) -> Any:
            return (await super().encode(texts, purpose))[:-1]

    with pytest.raises(WrongCountProblem):
        await embedder(Forgetful()).embed_passages(["a", "b"])
