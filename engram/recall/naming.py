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
class Near:
    """An entity that is near the query by its vector, above the floor: one that it may name in other words."""

    memory_id: UUID
    display_name: str
    similarity: float
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


def meant(near: Iterable[Near], *, weight: float, floor: float) -> dict[UUID, Named]:
    """By memory the strongest entity that is near, as ``named`` does; ties by spelling. ``weight`` is that of one of
    which the vector is the query's, among one memory."""
    found: dict[UUID, Named] = {}
    for one in near:
        way = Named(weight * rescaled(one.similarity, floor) / (1 + math.log(one.size)), one.display_name)
        known = found.get(one.memory_id)
        if way.score > 0 and (known is None or (-way.score, way.entity) < (-known.score, known.entity)):
            found[one.memory_id] = way
    return found


def rescaled(similarity: float, floor: float) -> float:
    """A cosine as a share of what lies above ``floor``, in [0, 1]."""
    return min(1.0, max(0.0, (similarity - floor) / (1 - floor)))
