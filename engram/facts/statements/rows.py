"""Statements as they stand, on their way from one state to another. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from engram.db.moments import aware
from engram.facts.ontology.cardinalities import Cardinalities
from engram.facts.rows import Closure
from engram.facts.schemas import ClosurePolicy, FactStatus
from engram.facts.statements.cardinality import End, Value, ends
from engram.facts.statements.stating import Stating, Wanted

_Believed = tuple[FactStatus, datetime | None, ClosurePolicy | None, UUID | None]


@dataclass(slots=True, kw_only=True)
class Statement:
    """A statement, with what is believed of it, which changes until it is written."""

    id: UUID
    memory_id: UUID
    slot: UUID
    ordinal: int
    triple: tuple[str, str, str, str]
    predicate: str
    object_entity: UUID
    confidence: float
    provenance: str
    valid_from: datetime
    stated_until: datetime | None
    arrived_at: datetime
    since: datetime | None
    held_until: datetime | None
    updated_at: datetime | None
    """Null: it is new."""
    status: FactStatus
    end: End
    was: _Believed = field(init=False)
    """What was believed of it before."""
    held_before: datetime | None = field(init=False)

    def __post_init__(self) -> None:
        self.was = self.believed
        self.held_before = self.held_until

    @property
    def believed(self) -> _Believed:
        return (self.status, self.end.until, self.end.policy, self.end.superseded_by)

    @property
    def standing(self) -> bool:
        return self.status is FactStatus.standing

    @property
    def taken_out(self) -> bool:
        """Whether it was taken out with its memory, and not by somebody's word."""
        return self.status is FactStatus.deleted and self.end.policy is ClosurePolicy.memory

    @property
    def withdrawn(self) -> bool:
        """Whether somebody said that it is not to be believed: it stays so, whatever becomes of the memory."""
        return not self.standing and self.end.policy is not ClosurePolicy.memory

    def take_out(self, status: FactStatus, policy: ClosurePolicy | None) -> None:
        self.status = status
        self.end = End(self.end.until, policy)

    @property
    def closure(self) -> Closure:
        return Closure(self.id, self.status, self.end.until, self.end.superseded_by, self.end.policy)

    def says(self, wanted: Wanted) -> bool:
        return (self.triple, self.ordinal, self.confidence, self.provenance, self.valid_from, self.stated_until) == (
            wanted.triple,
            wanted.ordinal,
            wanted.confidence,
            wanted.provenance,
            wanted.valid_from,
            wanted.stated_until,
        )


def statement_of(row: Mapping[str, Any]) -> Statement:
    """Of a row, with the names of its entities."""
    policy = ClosurePolicy(row["closed_by"]) if row["closed_by"] is not None else None
    return Statement(
        id=row["id"],
        memory_id=row["memory_id"],
        slot=row["slot"],
        ordinal=row["ordinal"],
        triple=(row["subject_name"], row["predicate"], row["object_name"], row["adapter_name"]),
        predicate=row["predicate"],
        object_entity=row["object_entity"],
        confidence=row["confidence"],
        provenance=row["provenance"],
        valid_from=aware(row["valid_from"]),
        stated_until=aware(row["stated_until"]),
        arrived_at=row["arrived_at"],
        since=row["since"],
        held_until=aware(row["held_until"]),
        updated_at=row["updated_at"],
        status=FactStatus(row["status"]),
        end=End(aware(row["valid_until"]), policy, row["superseded_by"]),
    )


def restated(memory: Stating, rows: Sequence[Statement], wanted: Sequence[Wanted]) -> list[Wanted]:
    """Let the statements of a memory follow from it. What is to be stated anew.

    ``rows`` are all that the memory has, and are changed; ``wanted`` are what it is to have since it was stated last.
    """
    if memory.deleted:
        for row in rows:
            if row.standing:
                row.take_out(FactStatus.deleted, ClosurePolicy.memory)
        return []
    for row in rows:
        if row.taken_out:
            # It is back with its memory.
            row.status = FactStatus.standing
        if row.since != memory.stated_at and row.held_until is None:
            # From there on it is said anew.
            row.held_until = memory.stated_at
    current = [row for row in rows if row.since == memory.stated_at and row.standing]
    withdrawn = {row.triple for row in rows if row.withdrawn}
    new = []
    for statement in wanted:
        same = next((row for row in current if row.says(statement)), None)
        if same is not None:
            same.held_until = memory.superseded_at
            current.remove(same)
        elif statement.triple not in withdrawn:
            new.append(statement)
    for row in current:
        # The memory does not say it any more: it was changed, and not superseded.
        row.take_out(FactStatus.undone, ClosurePolicy.memory)
    return new


def stated(new: Wanted, entity: UUID, memory: Stating) -> Statement:
    """A statement that is to be written, with the entity that is its object."""
    return Statement(
        id=uuid7(),
        memory_id=new.memory_id,
        slot=new.slot,
        ordinal=new.ordinal,
        triple=new.triple,
        predicate=new.predicate,
        object_entity=entity,
        confidence=new.confidence,
        provenance=new.provenance,
        valid_from=new.valid_from,
        stated_until=new.stated_until,
        arrived_at=new.arrived_at,
        since=memory.stated_at,
        held_until=memory.superseded_at,
        updated_at=None,
        status=FactStatus.standing,
        end=End(new.stated_until),
    )


def settle(rows: Iterable[Statement], cardinalities: Cardinalities) -> list[Statement]:
    """Give each of the statements of some slots that stand its end. Those of all of which another thing is believed
    now, by id."""
    rows = list(rows)
    slots: defaultdict[UUID, list[Statement]] = defaultdict(list)
    for row in rows:
        if row.standing:
            slots[row.slot].append(row)
    for standing in slots.values():
        settled = ends(_value(row, cardinalities) for row in standing)
        for row in standing:
            row.end = settled[row.id]
    return sorted((row for row in rows if row.believed != row.was), key=lambda row: row.id.int)


def _value(row: Statement, cardinalities: Cardinalities) -> Value:
    return Value(
        id=row.id,
        entity=row.object_entity,
        valid_from=row.valid_from,
        stated_until=row.stated_until,
        held_until=row.held_until,
        arrived_at=row.arrived_at,
        memory_id=row.memory_id,
        ordinal=row.ordinal,
        one=cardinalities.one(row.predicate),
    )
