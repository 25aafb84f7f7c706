from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.embeddings.chunking import combine, is_blank, split
from engram.embeddings.tokens import estimated_tokens, utf8_bytes

# Text as it comes: words, sentences, scripts without spaces, emoji with joiners, letters with marks.
SAMPLES = [
    "word ", "a", "Sentence. ", "Really?! ", "\n\n", "\t", " ", "外币汇率换算工具", "終わり。", "ไทย",
    "👨‍👩‍👧‍👦", "👍🏽", "e\u0301", "\u200b", "supercalifragilistic", '"Yes." ', "مرحبا ", "...",
]  # fmt: skip
mixed_text = st.lists(st.one_of(st.sampled_from(SAMPLES), st.text(max_size=8)), max_size=60).map("".join)


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


@given(text=mixed_text, limit=st.integers(1, 40))
@pytest.mark.parametrize("count", [characters, utf8_bytes])
def test_pieces_put_together_are_the_text(count, text, limit):
    assert "".join(split(text, limit, count)) == text


@given(text=mixed_text, limit=st.integers(1, 40))
@pytest.mark.parametrize("count", [characters, utf8_bytes])
def test_every_piece_fits_unless_it_is_one_character(count, text, limit):
    pieces = split(text, limit, count)
    assert all(count([piece])[0] <= limit or len(piece) == 1 for piece in pieces)


@given(text=mixed_text, limit=st.integers(1, 40))
def test_two_neighbours_never_fit_in_one_piece_when_sentences_are_short(text, limit):
    pieces = split(text, limit, characters)
    if len(pieces) > 1:
        assert all(pieces)
        # A piece is closed only when the next part of the text would not fit.
        average = len(text) / len(pieces)
        assert average > limit / 4


@given(text=mixed_text)
def test_text_that_fits_is_one_piece(text):
    assert split(text, max(1, len(text)), characters) == [text]


def test_pieces_end_where_sentences_end():
    text = "The first one is here. The second asks: why? The third shouts! And the last."
    assert split(text, 30, characters) == [
        "The first one is here. ",
        "The second asks: why? ",
        "The third shouts! ",
        "And the last.",
    ]


def test_a_sentence_that_is_too_long_is_divided_between_words():
    text = "one two three four five six seven eight nine ten"
    pieces = split(text, 12, characters)
    assert "".join(pieces) == text
    assert {word for piece in pieces for word in piece.split()} == set(text.split())


def test_text_without_spaces_is_divided_at_its_own_full_stops():
    text = "今天天气很好。我们去公园吧！你觉得怎么样？"
    assert split(text, 9, characters) == ["今天天气很好。", "我们去公园吧！", "你觉得怎么样？"]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "外币汇率换算工具" * 25_000,
        "".join(random.Random(1).choices("abcdef0123456789", k=200_000)),
        "." * 200_000,
        " " * 200_000,
        "👨‍👩‍👧‍👦" * 20_000,
        "e" + "\u0301" * 200_000,
        "word " * 40_000,
        "A sentence of some length.\n" * 8_000,
    ],
    ids=["letters", "chinese", "hex", "dots", "spaces", "families", "marks", "words", "sentences"],
)
def test_200_kilobytes_of_anything_reassemble_exactly(text):
    pieces = split(text, 512, estimated_tokens)
    assert "".join(pieces) == text
    assert max(estimated_tokens(pieces)) <= 512
    assert len(pieces) <= 3 * sum(estimated_tokens(pieces)) / 512 + 1


def test_an_emoji_of_a_family_stays_whole():
    family = "👨‍👩‍👧‍👦"
    pieces = split(family * 200, 50, characters)
    assert len(pieces) > 1
    assert all(piece.count("👨") * family == piece for piece in pieces)


def test_a_letter_keeps_its_marks():
    pieces = split("e\u0301" * 500, 41, characters)
    assert len(pieces) > 1
    assert all(piece.startswith("e") for piece in pieces)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u200d", "\x01", "\ufeff"])
def test_text_that_shows_nothing_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", ".", " 。", "👍", "\u200bx", "\u0301"])
def test_text_that_shows_something_is_not_blank(text):
    assert not is_blank(text)


def test_the_vector_of_one_piece_is_taken_as_it_is():
    vectors = np.array([[0.6, 0.8], [1.0, 0.0]], dtype=np.float32)
    assert np.array_equal(combine(vectors, [["a"], ["b"]]), vectors)


def test_pieces_weigh_by_their_visible_length():
    vectors = np.eye(3, dtype=np.float32)
    combined = combine(vectors, [["xxx", "x  \n "], ["y"]])
    assert combined[0] == pytest.approx(np.array([3, 1, 0]) / np.sqrt(10))
    assert combined[1] == pytest.approx([0, 0, 1])


@given(
    weights=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    numbers=st.lists(st.floats(-1, 1, width=32), min_size=24, max_size=24),
)
def test_combined_vectors_have_length_one_or_zero(weights, numbers):
    vectors = np.array(numbers, dtype=np.float32).reshape(6, 4)[: len(weights)]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.where(lengths > 1e-3, vectors / np.maximum(lengths, 1e-3), 0).astype(np.float32)
    length = np.linalg.norm(combine(vectors, [["x" * weight for weight in weights]])[0])
    assert length == pytest.approx(1, abs=1e-5) or length == 0
