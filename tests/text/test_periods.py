from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.fields import date_terms
from engram.text.periods import MAX_PERIODS, periods

FRIDAY = datetime(2023, 5, 12, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in May 2023", [("#2023-05",)]),
        ("in May of 2023", [("#2023-05",)]),
        ("on 8 May, 2023", [("#2023-05",), ("#2023-05-08",)]),
        ("on the 8th of May 2023", [("#2023-05",), ("#2023-05-08",)]),
        ("on May 8", [("#*-05",)]),
        ("in May and June", [("#*-05",), ("#*-06",)]),
        ("in 2023", [("#2023",)]),
        ("between 2023-05-08 and 2023-06", [("#2023-05",), ("#2023-05-08",), ("#2023-06",)]),
        ("on 31 June 2023", [("#2023-06",)]),
        ("on 2023-13-01", []),
        ("may I march in august company?", []),
        ("May I?", []),
        ("room 2023", []),
        ("today", [("#2023-05-12",)]),
        ("Yesterday", [("#2023-05-11",)]),
        ("three days ago", [("#2023-05-09",)]),
        (
            "last year",
            [
                tuple(
                    f"#{year}-{month:02d}"
                    for year, month in [(2022, m) for m in range(5, 13)] + [(2023, m) for m in range(1, 6)]
                )
            ],
        ),
        ("no date at all", []),
    ],
)
def test_what_a_question_speaks_of(text: str, expected: list[tuple[str, ...]]) -> None:
    assert periods(text, FRIDAY) == expected


def test_a_week_is_asked_for_by_its_days() -> None:
    (week,) = periods("What did I do in the past week?", FRIDAY)
    assert week == tuple(f"#2023-05-{day:02d}" for day in range(5, 13))


@given(st.integers(0, 400))
def test_what_was_so_many_days_ago_is_found_by_that(days: int) -> None:
    (period,) = periods(f"what was {days} days ago?", FRIDAY)
    assert date_terms(FRIDAY - timedelta(days=days)) & set(period)


@given(st.text())
def test_any_text_may_be_asked(text: str) -> None:
    found = periods(text, FRIDAY)
    assert len(found) <= MAX_PERIODS
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("text", ["in the past 999 years", "999 years ago", "0 days ago", "last 0 weeks"])
def test_what_lies_beyond_the_calendar_asks_for_a_bounded_number(text: str) -> None:
    assert all(len(period) <= 400 for period in periods(text, FRIDAY))


@pytest.mark.parametrize("text", ["sıx days ago", "fıve weeks ago", "ſix days ago"])
def test_a_letter_that_only_looks_alike_counts_nothing(text: str) -> None:
    assert periods(text, FRIDAY) == []


@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)])
@pytest.mark.parametrize(
    "text", ["last year", "999 years ago", "0 years ago", "yesterday", "this month", "two weeks ago"]
)
def test_the_calendar_ends(text: str, at: datetime) -> None:
    assert periods(text, at)
