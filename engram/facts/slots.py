"""How facts of some slots come to be believed otherwise. Pure.

From what is known of the slots and what happens in them it follows which ends change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from engram.db.moments import aware
from engram.facts.rows import Closure, NewFact, closure, value_of
from engram.facts.schemas import FactStatus
from engram.facts.supersession import End, Value, ends

TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Appending:
    """What appending facts comes to: each with its end and when it was learnt, and what else ends earlier."""

    new: list[tuple[NewFact, Closure, datetime]]
    closed: list[Closure]


@dataclass(frozen=True, slots=True)
class News:
    """What comes to a slot and may end other facts of it, or be ended by them."""

    slot: UUID
    start: datetime
    """When the first of it begins."""
    object: str | None
    """What all of it says; None where it says several things."""


def news(facts: Iterable[NewFact], now: datetime) -> list[News]:
    """By slot. Of a slot in which nothing is to be superseded nothing need be known."""
    found: dict[UUID, News] = {}
    for fact in facts:
        if fact.item.supersede:
            new = News(fact.slot, fact.item.valid_from or now, fact.item.object)
            known = found.get(fact.slot, new)
            same = known.object if known.object == new.object else None
            found[fact.slot] = News(fact.slot, min(known.start, new.start), same)
    return list(found.values())


def later_than(rows: Iterable[Mapping[str, Any]], now: datetime) -> datetime:
    """Now, which is later than any of these facts was changed, whatever the clocks of other servers say."""
    changed: Iterable[datetime] = (row["updated_at"] for row in rows)
    return max([now, *(moment + TICK for moment in changed)])


def appending(facts: Sequence[NewFact], rows: Sequence[Mapping[str, Any]], now: datetime) -> Appending:
    """Append facts, learnt one after the other from ``now`` on, to slots in which ``rows`` may be touched by that."""
    slots: defaultdict[UUID, list[Value]] = defaultdict(list)
    for row in rows:
        slots[row["slot"]].append(value_of(row))
    arriving = Counter(fact.slot for fact in facts)
    learnt = [(fact, now + place * TICK) for place, fact in enumerate(facts)]
    for fact, recorded_at in learnt:
        # What is alone in its slot ends as its writer said: most of a large load.
        if fact.slot in slots or arriving[fact.slot] > 1:
            slots[fact.slot].append(_value(fact, recorded_at))
    settled: dict[str, End] = {}
    for values in slots.values():
        settled.update(ends(values))
    new = [(fact, _from_the_start(fact, slots, settled), recorded_at) for fact, recorded_at in learnt]
    ended = {row["id"]: aware(row["valid_until"]) for row in rows}
    # Rows may be missing that say the same. They may have ended others, which therefore only ever end earlier.
    return Appending(new, [closed for closed in _changed(rows, settled) if _earlier(closed, ended[closed.fact_id])])


def changing(id: UUID, status: FactStatus, rows: Sequence[Mapping[str, Any]], fact: Mapping[str, Any]) -> list[Closure]:
    """Give a fact another status: what comes to be believed of it, which is the first, and of others of its slot.

    ``rows`` are those of the slot that end when it begins or later.
    """
    values = [value_of(row) for row in rows if row["id"] != id]
    values.append(replace(value_of(fact), status=status))
    settled = ends(values)
    return [closure(str(id), status, settled[str(id)]), *_changed([row for row in rows if row["id"] != id], settled)]


def erasing(ids: Collection[UUID], rows: Sequence[Mapping[str, Any]]) -> list[Closure]:
    """Take facts away as if they had never been appended: what comes to be believed of others of their slots.

    ``rows`` are those of the slots that end when the first of these begins or later.
    """
    slots: defaultdict[UUID, list[Value]] = defaultdict(list)
    left = [row for row in rows if row["id"] not in ids]
    for row in left:
        slots[row["slot"]].append(value_of(row))
    settled: dict[str, End] = {}
    for values in slots.values():
        settled.update(ends(values))
    return _changed(left, settled)


def _from_the_start(fact: NewFact, slots: Collection[UUID], settled: Mapping[str, End]) -> Closure:
    if fact.slot not in slots:
        return Closure(fact.id, FactStatus.standing, fact.item.valid_until, None)
    return closure(str(fact.id), FactStatus.standing, settled[str(fact.id)])


def _value(fact: NewFact, recorded_at: datetime) -> Value:
    return Value(
        id=str(fact.id),
        object=fact.item.object,
        valid_from=fact.item.valid_from or recorded_at,
        stated_until=fact.item.valid_until,
        recorded_at=recorded_at,
        supersede=fact.item.supersede,
        status=FactStatus.standing,
    )


def _earlier(closed: Closure, before: datetime | None) -> bool:
    return closed.valid_until is not None and (before is None or closed.valid_until < before)


def _changed(rows: Iterable[Mapping[str, Any]], settled: Mapping[str, End]) -> list[Closure]:
    """Ends of facts that are believed and are others now."""
    changed = []
    for row in rows:
        if row["status"] != FactStatus.standing:
            continue
        new = closure(str(row["id"]), FactStatus.standing, settled[str(row["id"])])
        if (new.valid_until, new.superseded_by) != (aware(row["valid_until"]), row["superseded_by"]):
            changed.append(new)
    return changed
