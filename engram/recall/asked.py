"""What a query asks the lexical index for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from engram.recall.tuning import RecallTuning
from engram.text.fields import FIELD
from engram.text.periods import periods
from engram.text.terms import MAX_QUERY_TERMS, Analyzer


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """``weight`` multiplies the term's share of a score. Terms of one ``group`` are as rare as all of them together:
    the days of a week are one question, of which a memory answers at most one."""

    term: str
    weight: float
    group: int


def asked_terms(analyzer: Analyzer, query: str, asked_at: datetime, tuning: RecallTuning) -> list[AskedTerm]:
    """The query's words, each also as a name that a memory may be about, its phrases, and the periods it speaks of."""
    asked: list[AskedTerm] = []
    for term, count in analyzer.query_terms(query).items():
        asked.append(AskedTerm(term, count, len(asked)))
        if tuning.about_weight:
            asked.append(AskedTerm(FIELD + term, count * tuning.about_weight, len(asked)))
    if tuning.phrase_weight:
        for phrase in analyzer.phrases(query, MAX_QUERY_TERMS):
            asked.append(AskedTerm(phrase, tuning.phrase_weight, len(asked)))
    if tuning.date_weight:
        seen = set()
        for period in periods(query, asked_at):
            group = len(asked)
            new = [term for term in period if term not in seen]
            asked += [AskedTerm(term, tuning.date_weight, group) for term in new]
            seen.update(new)
    return asked
