"""Text of others on a terminal: short, on one line, and harmless."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.cli.text import counted, excerpt, one_line

ANY = st.text(st.characters(exclude_categories=()), max_size=100)


@given(ANY)
def test_nothing_that_could_steer_a_terminal_is_left(text: str) -> None:
    shown = one_line(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in shown)
    assert not any(char in shown for char in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\ufeff")


@given(ANY, st.integers(2, 100))
def test_an_excerpt_is_never_longer_than_asked_for(text: str, limit: int) -> None:
    assert len(excerpt(text, limit)) <= limit


@given(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20))
def test_what_fits_is_shown_as_it_is(text: str) -> None:
    assert excerpt(text, 20) == text


def test_an_excerpt_ends_between_words() -> None:
    assert excerpt("one two three four five", 16) == "one two three…"


def test_letters_that_are_joined_stay_joined() -> None:
    assert one_line("👩\u200d💻") == "👩\u200d💻"


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 memories"), (1, "1 memory"), (2, "2 memories"), (12345, "12,345 memories")]
)
def test_numbers_come_with_their_noun(number: int, told: str) -> None:
    assert counted(number, "memory", "memories") == told
