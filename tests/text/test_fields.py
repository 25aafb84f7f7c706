from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.fields import FIELD, about_terms, date_terms, speaker
from engram.text.terms import analyzer_for


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Caroline: I am back", "Caroline"),
        ("  Jean-Luc Picard: engage", "Jean-Luc Picard"),
        ("李华：你好", "李华"),
        ("user: how are you?", "user"),
        ("see https://example.org", None),
        ("12:30 is fine", None),
        ("12: is a number", None),
        ("Caroline", None),
        (": nobody", None),
        ("", None),
        ("this is far too long to be a name: yes", None),
    ],
)
def test_a_speaker_stands_before_a_colon(text: str, name: str | None) -> None:
    assert speaker(text) == name


def test_a_moment_is_its_day_month_and_year_in_utc() -> None:
    late = datetime(2023, 4, 30, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    assert date_terms(late) == {"#2023-05-01", "#2023-05", "#2023", "#*-05"}
    assert date_terms(datetime(985, 1, 2, tzinfo=UTC)) == {"#0985-01-02", "#0985-01", "#0985", "#*-01"}


@given(st.lists(st.text(), max_size=3))
def test_a_field_is_no_word(names: list[str]) -> None:
    analyzer = analyzer_for("english")
    terms = about_terms(analyzer, names)
    assert all(term.startswith(FIELD) for term in terms)
    assert not terms & set(analyzer.document_terms(" ".join(terms)))


@given(st.text())
def test_any_text_may_have_a_speaker(text: str) -> None:
    found = speaker(text)
    assert found is None or (found in text and found.strip())
