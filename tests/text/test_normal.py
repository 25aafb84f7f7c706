from __future__ import annotations

import sys
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.normal import Form, normal

MARKS = "゙゚ְ̀́̈́̕ﾞཱཱཱིྀུॎुᅡ"
TEXTS = st.lists(st.text(MARKS + "aかが각é") | st.text(max_size=5) | st.text(MARKS, min_size=31)).map("".join)


@given(TEXTS, st.sampled_from(["NFC", "NFKC"]))
def test_it_is_what_python_gives(text: str, form: Form) -> None:
    assert normal(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize(("form", "full"), [("NFC", "NFD"), ("NFKC", "NFKD")])
def test_every_character_may_stand_in_a_long_run(form: Form, full: Literal["NFD", "NFKD"]) -> None:
    sorted_behind = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code < 0xE000 and all(map(unicodedata.combining, unicodedata.normalize(full, chr(code))))
    ]
    for start in range(0, len(sorted_behind), 200):
        run = "a" + "".join(reversed(sorted_behind[start : start + 200]))
        assert normal(form, run) == unicodedata.normalize(form, run)


def test_a_run_without_end_is_read_in_a_moment() -> None:
    """By insertion this would take hours."""
    text = "a" + "̀̕" * 500_000
    assert len(normal("NFC", text)) == len(text) - 1  # the letter and its grave are one
