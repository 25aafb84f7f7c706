from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ('She said "Go." He went.', ['She said "Go." ', "He went."]),
        ("第一句。第二句！", ["第一句。", "第二句！"]),
        ("Line\nLine\n\nLine", ["Line\n", "Line\n\n", "Line"]),
        ("Version 2.3 of it", ["Version 2.3 of it"]),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text())
def test_sentences_are_the_text(text: str) -> None:
    found = sentences(text)
    assert "".join(found) == text
    assert all(found)
