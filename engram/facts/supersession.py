"""How facts of one subject and predicate end each other. Pure.

A fact holds from its start until the end that its writer gave, or until the first later start of another object,
whichever comes first. "Later" is by start, then by arrival: of two that begin together the one that was learnt last
stands, and the other has held for no time. So ends depend on what is known, and not on the order in which it came.

A fact that was appended with ``supersede=False`` ends nothing, and is ended only by what is learnt after it: what is
there already was no news to its writer.

What was deleted still ends what it ended; what was undone ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from engram.facts.schemas import FactStatus


@dataclass(frozen=True, slots=True)
class Value:
    """A fact as its slot sees it: the facts of one partition, subject and predicate, spelt alike."""

    id: str
    object: str
    valid_from: datetime
    stated_until: datetime | None
    recorded_at: datetime
    supersede: bool
    status: FactStatus

    @property
    def arrival(self) -> tuple[datetime, str]:
        return (self.recorded_at, self.id)

    @property
    def place(self) -> tuple[datetime, datetime, str]:
        """Sorts values as they follow each other."""
        return (self.valid_from, *self.arrival)


@dataclass(frozen=True, slots=True)
class End:
    """When a value ends, and by which other; by none where its writer said so, or it holds on."""

    until: datetime | None
    superseded_by: str | None


def ends(values: Iterable[Value]) -> dict[str, End]:
    """How each of the values of a slot ends, by id.

    Values that end no later than all that is asked about begin may be left out: they change nothing of the others.
    """
    ordered = sorted(values, key=lambda value: value.place)
    following: list[Value] = []
    found: dict[str, End] = {}
    for value in reversed(ordered):
        found[value.id] = _end(value, _closer(value, following))
        if value.supersede and value.status is not FactStatus.undone:
            following.append(value)
    return found


def _closer(value: Value, following: Sequence[Value]) -> Value | None:
    """The first of those that follow, the nearest of which is last, that ends a value."""
    for other in reversed(following):
        if other.object != value.object and (value.supersede or other.arrival > value.arrival):
            return other
    return None


def _end(value: Value, closer: Value | None) -> End:
    if closer is None or (value.stated_until is not None and value.stated_until <= closer.valid_from):
        return End(value.stated_until, None)
    return End(closer.valid_from, closer.id)
