"""The dates that a question speaks of: "in May 2023", "on 8 May", "last week". Pure.

English words and ISO dates. Relative ones are counted from the moment at which is asked. Libraries that parse dates
give an instant where a question means a period, and take many ordinary words for dates; so this reads the few forms in
which people ask, and takes no other word for a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from engram.text.fields import any_year_term, day_term, month_term, year_term

Period = tuple[str, ...]
"""Terms of which a memory holds one if it lies in the period."""

MAX_PERIODS = 8
_DAYS_BY_DAY = 31
"""A longer period is asked for by its months."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "couple of": 2, "few": 3}
_MONTH = "(?P<month>" + "|".join(name.capitalize() for name in _MONTHS) + ")"
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT = "(?P<unit>day|week|weekend|month|year)s?"

# What a word like "may" is, its capital tells; at the start of a sentence nothing does, so a month alone is read only
# behind another word.
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<number>\d\d)(?:-(?P<day>\d\d))?\b")
_DAY_FIRST = re.compile(rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?:,? (?P<year>\d{{4}})\b)?")
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (?P<day>\d\d?)(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}})\b)?")
_MONTH_YEAR = re.compile(rf"\b{_MONTH},?(?: of)? (?P<year>\d{{4}})\b")
_MONTH_ALONE = re.compile(rf"(?<=\w ){_MONTH}\b")
_YEAR = re.compile(r"\b(?:in|during|of|since|from|until|year) (?P<year>(?:19|20)\d\d)\b", re.IGNORECASE | re.ASCII)
_YESTERDAY = re.compile(r"\b(?P<day>yesterday|today)\b", re.IGNORECASE | re.ASCII)
_AGO = re.compile(rf"\b{_NUMBER} {_UNIT} ago\b", re.IGNORECASE | re.ASCII)
_PAST = re.compile(rf"\b(?:last|past|previous) (?:{_NUMBER} )?{_UNIT}\b", re.IGNORECASE | re.ASCII)
_THIS = re.compile(r"\bthis (?P<unit>week|weekend|month|year)\b", re.IGNORECASE | re.ASCII)
_SLACK = {"day": 0, "week": 3, "weekend": 1, "month": 15, "year": 182}


def periods(text: str, asked_at: datetime) -> list[Period]:
    """The periods that a question names, at most ``MAX_PERIODS``; ``asked_at`` is what "last week" is counted from."""
    today = asked_at.astimezone(UTC).date()
    found: dict[Period, None] = {}
    for period in _named(text):
        found.setdefault(period)
    for first, last in _counted(text, today):
        found.setdefault(_between(first, last))
    return list(found)[:MAX_PERIODS]


def _earlier(day: date, days: int) -> date:
    """So many days before, within the calendar; a negative number is later."""
    return date.fromordinal(min(max(day.toordinal() - days, 1), date.max.toordinal()))


def _named(text: str) -> Iterator[Period]:
    rest = text
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _MONTH_YEAR, _MONTH_ALONE, _YEAR):
        for match in pattern.finditer(rest):
            yield from _calendar(**match.groupdict())
        rest = pattern.sub(" ", rest)  # what was read is not read again: of "May 2023" no "May"


def _calendar(
    *, year: str | None = None, month: str | None = None, number: str | None = None, day: str | None = None
) -> Iterator[Period]:
    """A day is asked for by its month too: what is told of a day is often told some days later."""
    at = _MONTHS.index(month.lower()) + 1 if month else int(number or 0)
    if year is None:
        yield (any_year_term(at),)
    elif at == 0:
        yield (year_term(int(year)),)
    elif 1 <= at <= len(_MONTHS):
        yield (month_term(int(year), at),)
        try:
            yield from [(day_term(date(int(year), at, int(day))),)] if day else []
        except ValueError:  # the 31st of June
            return


def _counted(text: str, today: date) -> Iterator[tuple[date, date]]:
    for match in _YESTERDAY.finditer(text):
        day = _earlier(today, int(match["day"].lower() == "yesterday"))
        yield day, day
    for match in _AGO.finditer(text):
        unit = match["unit"].lower()
        day = _earlier(today, _number(match["number"]) * _days(unit))
        yield _earlier(day, _SLACK[unit]), _earlier(day, -_SLACK[unit])
    for match in _PAST.finditer(text):
        yield _earlier(today, _number(match["number"] or "one") * _days(match["unit"].lower())), today
    for match in _THIS.finditer(text):
        yield _earlier(today, _days(match["unit"].lower()) - 1), today


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _days(unit: str) -> int:
    return {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 365}[unit]


def _between(first: date, last: date) -> Period:
    days = (last - first).days
    if days <= _DAYS_BY_DAY:
        return tuple(day_term(_earlier(first, -day)) for day in range(days + 1))
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    return tuple(month_term(month // 12, month % 12 + 1) for month in months[-24:])
