"""Reading the sets: facts as they are written, questions with their answers. Pure but for the files."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

Item = dict[str, Any]
"""A fact as ``FactItem`` takes it."""

_ALWAYS = "0001-01-01"
"""The start of what has none: the earliest that can be written."""


@dataclass(frozen=True, slots=True)
class Dated:
    """Facts with the time in which they held, and how many were left out: those that end before they begin, and those
    of which no day is known."""

    items: list[Item]
    inverted: int
    undated: int


def dated_facts(folder: Path) -> Dated:
    """Of ``facts.tsv.gz``: subject, relation, object, first and last day, either of which may be empty."""
    items: list[Item] = []
    inverted = undated = 0
    for subject, predicate, object_, first, last, *_ in _lines(folder / "facts.tsv.gz"):
        if first and last and last < first:
            inverted += 1
            continue
        if not first and not last:
            undated += 1
            continue
        items.append(
            {
                "subject": subject,
                "predicate": predicate,
                "object": object_,
                "valid_from": _day(first) if first else _ALWAYS,
                # The last day is part of it; ours end without their end.
                "valid_until": (date.fromisoformat(last) + timedelta(days=1)).isoformat() if last else None,
                "supersede": False,
            }
        )
    return Dated(items, inverted, undated)


def _day(text: str) -> str:
    """Of one that is none, as 1963-64-65, the first of its year."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return f"{text[:4]}-01-01"


def questions(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def triples(file: Path) -> list[Item]:
    """Subject, predicate, object, one a line."""
    return [_triple(subject, predicate, object_) for subject, predicate, object_ in _lines(file)]


@dataclass(frozen=True, slots=True)
class Numbered:
    """Facts between numbered entities, each of which has a word of its own in its name."""

    items: list[Item]
    names: list[str]
    degrees: Counter[str]
    """How many facts name each."""

    def of_median_degree(self) -> list[str]:
        """Names of the entities that as many facts name as half of all have at most."""
        ordered = sorted(self.degrees.values())
        median = ordered[len(ordered) // 2]
        return [name for name, degree in self.degrees.items() if degree == median]

    def hub(self) -> tuple[str, int]:
        return self.degrees.most_common(1)[0]


def numbered_facts(folder: Path) -> Numbered:
    """Of ``train``, ``valid`` and ``test.tsv.gz``, with labels from ``entities.tsv.gz`` and ``relations.tsv.gz``."""
    names = [own_name(int(row[0]), row[3]) for row in _lines(folder / "entities.tsv.gz")]
    relations = dict(_lines(folder / "relations.tsv.gz"))
    items: list[Item] = []
    degrees: Counter[str] = Counter()
    for part in ("train", "valid", "test"):
        for head, relation, tail in _lines(folder / f"{part}.tsv.gz"):
            ends = names[int(head)], names[int(tail)]
            items.append(_triple(ends[0], relations[relation], ends[1]))
            degrees.update(ends)
    return Numbered(items, names, degrees)


def own_name(number: int, label: str) -> str:
    """Labels are not unique, and nodes are what their names are."""
    return f"{label} {own_word(number)}".strip()


def own_word(number: int) -> str:
    return f"e{number:05d}"


def _triple(subject: str, predicate: str, object_: str) -> Item:
    return {"subject": subject, "predicate": predicate, "object": object_, "supersede": False}


def _lines(file: Path) -> Iterator[list[str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")
