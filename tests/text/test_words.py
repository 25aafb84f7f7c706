from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text import words as splitting
from engram.text.words import fold, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user's team uses Go.", ["the", "user", "team", "uses", "go"]),
        ("snake_case, kebab-case; a/b\tc\nd", ["snake", "case", "kebab", "case", "a", "b", "c", "d"]),
        ("don't can\u2019t O\u02bcNeill", ["don't", "can't", "o'neill"]),
        ("the dogs' bowl", ["the", "dogs", "bowl"]),
        ("v2 3.14 2026-05-01", ["v2", "3", "14", "2026", "05", "01"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ＦＵＬＬ ｗｉｄｔｈ ﬁne", ["full", "width", "fine"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Привет, МИР!", ["привет", "мир"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("汇率ok", ["汇", "率", "ok"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("한국어", ["한", "국", "어"]),
        ("👨\u200d👩\u200d👧 family 🎉", ["family"]),
        ("", []),
        ("!!! ... ---", []),
    ],
)
def test_words_are_runs_of_letters_marks_and_digits(text: str, expected: list[str]) -> None:
    assert words(text) == [unicodedata.normalize("NFKC", word) for word in expected]


@given(st.text())
def test_every_text_falls_apart_into_words_that_show_something(text: str) -> None:
    for word in words(text):
        assert word
        assert not any(char.isspace() for char in word)


@given(st.text())
def test_how_accents_are_encoded_makes_no_difference(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.fixture(scope="module")
def short_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "_PIECE", 2)
        yield


COMPOSING = st.text(st.sampled_from("aeE\u0301\u0323\u0308ﺷﷺ\u1112\u1161\u11ab한\u0915\u093c\u09c7\u09beﬁİſ\u3099か ①"))


@pytest.mark.usefixtures("short_pieces")
@given(st.text() | COMPOSING)
def test_a_long_text_is_folded_in_pieces_as_it_would_be_in_one(text: str) -> None:
    assert fold(text) == unicodedata.normalize("NFKC", text).casefold()


def test_nothing_that_composes_begins_a_piece() -> None:
    for code in range(sys.maxunicode + 1):
        canonical = unicodedata.decomposition(chr(code)).split()
        if len(canonical) == 2 and not canonical[0].startswith("<"):
            assert splitting._composes(chr(int(canonical[1], 16))), canonical


@given(st.text(), st.text())
def test_a_space_always_separates(left: str, right: str) -> None:
    assert words(f"{left} {right}") == words(left) + words(right)


@given(st.text(st.characters(max_codepoint=127)))
def test_text_in_ascii_has_the_same_words_beside_other_text(text: str) -> None:
    assert words(text) == words(f"{text} \u00e9")[:-1]
