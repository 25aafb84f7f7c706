"""What follows from the row of a memory: which statements there are to be, and how those that there are become these.

Pure. The statements of a memory are of its last *period*: since it was written, or since it was last restored. Those of
the periods before stay as they ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from engram.db.moments import aware
from engram.entities.canonical import canonical_name
from engram.facts.keys import value_slot_key
from engram.facts.ontology.cardinalities import Cardinalities
from engram.facts.schemas import Provenance
from engram.facts.statements.provenance import provenance, standing_in
from engram.facts.statements.tenses import stem

STATED_AT = "stated_at"
"""Of a relation that came to a memory by a change of it, when that was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stating:
    """A memory, as far as its statements follow from it."""

    id: UUID
    status: str
    user_id: str | None
    content: str
    relations: Sequence[Mapping[str, Any]]
    valid_from: datetime
    stated_until: datetime | None
    superseded_at: datetime | None
    """When another took its place."""
    recorded_at: datetime
    stated_at: datetime | None
    """When it was restored or said again last."""

    @property
    def deleted(self) -> bool:
        return self.status == "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A statement that follows from a memory."""

    memory_id: UUID
    user_id: str | None
    ordinal: int
    subject: str
    predicate: str
    object: str
    subject_name: str
    object_name: str
    confidence: float
    adapter_name: str
    provenance: Provenance
    arrived_at: datetime
    valid_from: datetime
    stated_until: datetime | None
    slot: UUID

    @property
    def triple(self) -> tuple[str, str, str, str]:
        """What is said, and by whom."""
        return (self.subject_name, self.predicate, self.object_name, self.adapter_name)


def carried_over(
    before: Sequence[Mapping[str, Any]], declared: Sequence[Mapping[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    """What a memory declares after a change of it. What it said before was stated when it was; the rest is, now."""
    arrivals = {_said(relation): relation.get(STATED_AT) for relation in before}
    found = []
    for relation in declared:
        stated_at = arrivals.get(_said(relation), now.isoformat())
        found.append({**relation, **({STATED_AT: stated_at} if stated_at is not None else {})})
    return found


def _said(relation: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(relation[part] for part in ("subject", "predicate", "object", "adapter_name"))


def shown(declared: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same as its writer gave it."""
    return [{part: value for part, value in relation.items() if part != STATED_AT} for relation in declared]


def wanted(memory: Stating, cardinalities: Cardinalities) -> list[Wanted]:
    """The statements of a memory in its last period, the oldest first. Work for a thread."""
    names = _names_in(memory.relations)
    standing = standing_in(memory.content, names)
    found: dict[tuple[object, ...], Wanted] = {}
    dated: dict[UUID, datetime] = {}
    past: set[tuple[object, ...]] = set()
    for relation in memory.relations:
        subject, object = canonical_name(relation["subject"]), canonical_name(relation["object"])
        if subject is None or object is None:
            continue  # written by a server with other rules of names
        begins, ends = _moment(relation.get("valid_from")), _moment(relation.get("valid_until"))
        predicate = relation["predicate"]
        slot = value_slot_key(memory.user_id, subject, stem(predicate))
        start = begins or memory.valid_from
        start = start if memory.stated_at is None else max(start, memory.stated_at)
        arrivals = (memory.recorded_at, memory.stated_at, _moment(relation.get(STATED_AT)))
        until = ends if ends is not None else memory.stated_until
        statement = Wanted(
            memory_id=memory.id,
            user_id=memory.user_id,
            ordinal=0,
            subject=relation["subject"],
            predicate=predicate,
            object=relation["object"],
            subject_name=subject,
            object_name=object,
            confidence=relation["confidence"],
            adapter_name=relation["adapter_name"],
            provenance=provenance(subject, object, standing),
            arrived_at=max(moment for moment in arrivals if moment is not None),
            valid_from=start,
            stated_until=until if until is None else max(until, start),
            slot=slot,
        )
        key = (*statement.triple, start, until)
        # Said twice by one memory it is said once, where it was said last.
        found.pop(key, None)
        found[key] = statement
        if begins is not None:
            dated[slot] = min(start, dated.get(slot, start))
        elif cardinalities.past(predicate):
            past.add(key)
    return _in_order(found, dated, past)


def _names_in(relations: Sequence[Mapping[str, Any]]) -> dict[str, set[str]]:
    """The spellings of what relations name, by canonical name."""
    found: dict[str, set[str]] = {}
    for relation in relations:
        for spelling in (relation["subject"], relation["object"]):
            name = canonical_name(spelling)
            if name is not None:
                found.setdefault(name, set()).add(spelling)
    return found


def _in_order(
    found: Mapping[tuple[object, ...], Wanted], dated: Mapping[UUID, datetime], past: Collection[tuple[object, ...]]
) -> list[Wanted]:
    """What is in the past, and has no date, is older than what has one in the same write."""
    older, others = [], []
    for key, statement in found.items():
        first = dated.get(statement.slot)
        if key in past and first is not None:
            older.append(replace(statement, valid_from=min(statement.valid_from, first)))
        else:
            others.append(statement)
    return [replace(statement, ordinal=place) for place, statement in enumerate([*older, *others])]


def _moment(value: str | None) -> datetime | None:
    if value is None:
        return None
    moment = aware(datetime.fromisoformat(value))
    return moment.astimezone(UTC)
