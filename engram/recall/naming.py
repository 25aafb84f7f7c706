"""What a query names: entities that memories are about. Pure.

A question that names an entity is linked to the memories about it as a memory that mentions it would be, at hop 0. Of
an entity that several memories are about each is led to by ``1 / (1 + ln(size))``: a name that hundreds share tells
none of them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from engram.entities.recognition import NameMatcher


@dataclass(frozen=True, slots=True)
class Subject:
    """A memory about an entity whose name may stand in the query, and how many are about it."""

    memory_id: UUID
    name: str
    display_name: str
    size: int


@dataclass(frozen=True, slots=True)
class Named:
    """How strongly the query leads to a memory by a name, in (0, 1]."""

    score: float
    entity: str


def named(query: str, subjects: Iterable[Subject], ignored: frozenset[str]) -> dict[UUID, Named]:
    """By memory the strongest name that stands in the query; ties by name. Names of ``ignored`` words are none."""
    offered = sorted(subjects, key=lambda subject: (subject.size, subject.name, subject.memory_id))
    standing = NameMatcher({subject.name for subject in offered}, ignored=ignored).find(query)
    found: dict[UUID, Named] = {}
    for subject in offered:
        if subject.name in standing:
            found.setdefault(subject.memory_id, Named(1 / (1 + math.log(subject.size)), subject.display_name))
    return found
