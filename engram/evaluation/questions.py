"""A set of questions over banks of memories, checked and ready to be measured on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engram.evaluation.records import ExtractionRecord, MemoryRecord

UNANSWERABLE = frozenset({"adversarial"})
"""Types of questions that are never asked: their gold answers another question."""


@dataclass(frozen=True, slots=True)
class Question:
    """``id`` is unique in the set; ``gold`` is not empty, and holds one id of each group of equal memories."""

    id: str
    bank: str
    query: str
    gold: frozenset[str]
    type: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """``fingerprint`` is 64 hexadecimal digits over both files' content. ``left_out`` questions have no gold, or are
    of a type that is not asked. ``extractions`` has by bank and id what an extractor found in the memories, where the
    set comes with that, and ``extraction_fingerprint`` is of it."""

    name: str
    fingerprint: str
    banks: Mapping[str, Sequence[MemoryRecord]]
    questions: Sequence[Question]
    left_out: int
    extractions: Mapping[tuple[str, str], ExtractionRecord] = field(default_factory=dict)
    extraction_fingerprint: str | None = None

    @property
    def memories(self) -> int:
        return sum(len(bank) for bank in self.banks.values())

    @property
    def has_neighbours(self) -> bool:
        """Whether any session holds two memories, so that there is a temporal link."""
        for bank in self.banks.values():
            sessions = [record.session for record in bank if record.session is not None]
            if len(set(sessions)) < len(sessions):
                return True
        return False


def spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """At most ``limit`` of the questions, evenly spread over them in their order; all where it is None."""
    count = len(questions)
    if limit is None or limit >= count:
        return questions
    return [questions[place * count // limit] for place in range(limit)]
