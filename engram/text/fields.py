"""Terms of a memory's fields: who or what it is about, and when it was. Pure.

A text's own words say little of who speaks, and nothing of when. Both are indexed beside the words, as terms that open
with ``FIELD`` or ``DATE`` and so never equal a word, nor one the other: ``@carolin`` for a turn that Caroline says or a
document with her name as its title, ``#2023-05`` for all that was in May 2023.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime

from engram.text.terms import Analyzer

FIELD = "@"
DATE = "#"

_LABEL_WORDS = 4
_SPEAKER = re.compile(rf"\s*([^\W\d_][^\s:：]{{0,63}}(?: [^\s:：]{{1,64}}){{0,{_LABEL_WORDS - 1}}})(?::\s|：)")


def speaker(text: str) -> str | None:
    """The name that a turn opens with, as in ``Caroline: I am back``; None where it opens otherwise."""
    match = _SPEAKER.match(text)
    return match.group(1) if match else None


def about_terms(analyzer: Analyzer, names: Iterable[str]) -> set[str]:
    """Terms for the names that a memory is about."""
    return {FIELD + term for name in names for term in analyzer.document_terms(name)}


def date_terms(moment: datetime) -> set[str]:
    """Terms for the day, the month, the year and the month of any year, in UTC."""
    day = moment.astimezone(UTC).date()
    return {day_term(day), month_term(day.year, day.month), year_term(day.year), any_year_term(day.month)}


def day_term(day: date) -> str:
    return f"{DATE}{day.isoformat()}"


def month_term(year: int, month: int) -> str:
    return f"{DATE}{year:04d}-{month:02d}"


def year_term(year: int) -> str:
    return f"{DATE}{year:04d}"


def any_year_term(month: int) -> str:
    return f"{DATE}*-{month:02d}"
