"""How the values of a relation end each other, where a subject has one at a time. Pure.

Values order by the day they start, then by arrival; in one write the one stated later is newer. Each ends when the next
that has another object starts. So a value is judged at its newest statement, and what an older statement of it held for
stays what it was. Ends follow from what is stated, not from the order in which it came to be settled: to settle again
what failed, or what a rebuild made anew, gives what the write would have given.

A value that was stated with its own end holds until then, beside whatever is newer. What is no longer believed ends
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from engram.facts.schemas import ClosurePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A statement, as its slot sees it."""

    id: UUID
    entity: UUID
    """The object."""
    valid_from: datetime
    stated_until: datetime | None
    """The end that its writer gave, for it or for its memory."""
    held_until: datetime | None
    """When its memory ceased to hold, as another took its place."""
    arrived_at: datetime
    memory_id: UUID
    ordinal: int
    one: bool
    """Whether its relation has one value."""

    @property
    def place(self) -> tuple[object, ...]:
        """Sorts values from the oldest to the newest. Ids of memories are in the order in which they were written."""
        day = self.valid_from.astimezone(UTC).date()
        return (day, self.arrived_at, self.memory_id.int, self.ordinal)


@dataclass(frozen=True, slots=True)
class End:
    """When a value ends, by which rule, and by which other value; by no rule where its writer said so."""

    until: datetime | None
    policy: ClosurePolicy | None = None
    superseded_by: UUID | None = None


def ends(values: Iterable[Value]) -> dict[UUID, End]:
    """How each of the values of a slot ends, by id. All are believed.

    Values that ended before the day on which the first that is asked about starts may be left out.
    """
    found: dict[UUID, End] = {}
    # The next value, and the next with another object than that has.
    following: Value | None = None
    beyond: Value | None = None
    for value in sorted(values, key=lambda value: value.place, reverse=True):
        closer = following if following is None or following.entity != value.entity else beyond
        found[value.id] = _end(value, closer if value.one else None)
        if value.one:
            if following is not None and following.entity != value.entity:
                beyond = following
            following = value
    return found


def _end(value: Value, closer: Value | None) -> End:
    begins, held = value.valid_from, value.held_until
    if value.stated_until is not None:
        end = End(value.stated_until)
    elif closer is not None:
        end = End(max(closer.valid_from, begins), ClosurePolicy.cardinality, closer.id)
    else:
        end = End(None)
    if held is not None and (end.until is None or held < end.until):
        end = End(max(held, begins), ClosurePolicy.memory)
    return end
