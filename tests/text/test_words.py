from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.text(), st.text())
def test_a_space_always_separates(left: str, right: str) -> None:
    assert words(f"{left} {right}") == words(left) + words(right)


@given(st.text(st.characters(max_codepoint=127)))
def test_text_in_ascii_has_the_same_words_beside_other_text(text: str) -> None:
    assert words(text) == words(f"{text} \u00e9")[:-1]
