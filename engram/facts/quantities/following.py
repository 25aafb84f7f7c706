"""Which numbers follow from the row of a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from engram.db.moments import aware
from engram.entities.canonical import canonical_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """A memory, as far as its numbers follow from it."""

    id: UUID
    quantities: Sequence[Mapping[str, Any]]
    """What it declares; nothing, where none is to follow."""
    valid_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A number that follows from a memory. Two that are equal are one: it was said twice."""

    memory_id: UUID
    entity: str
    """The canonical name."""
    attribute: str
    value: float
    unit: str | None
    at: datetime


def measured(memory: Measuring) -> dict[Measured, str]:
    """The numbers of a memory in their order, each with how its entity is spelt. Work for a thread."""
    found: dict[Measured, str] = {}
    for quantity in memory.quantities:
        entity = canonical_name(quantity["entity"])
        if entity is None:
            continue  # written by a server with other rules of names
        at = quantity.get("at")
        number = Measured(
            memory_id=memory.id,
            entity=entity,
            attribute=quantity["attribute"],
            value=float(quantity["value"]),
            unit=quantity.get("unit"),
            at=aware(datetime.fromisoformat(at)).astimezone(UTC) if at is not None else memory.valid_from,
        )
        found.setdefault(number, quantity["entity"])
    return found
