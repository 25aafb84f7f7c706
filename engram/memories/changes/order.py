"""The order in which the values of one slot, or a memory and what superseded it, follow each other in time. Pure.

Values are ordered by the moment they begin, then by arrival. Each ends where the next begins, unless it was said to end
before.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from engram.memories.changes.rows import Place, Standing


def ends(stated: datetime | None, begins: datetime, successor: Standing | None) -> datetime | None:
    """When a value ends that begins then: as stated, where that lies ahead, or where its successor begins."""
    bounds = [moment for moment in (stated, successor.valid_from if successor else None) if moment is not None]
    ahead = [moment for moment in bounds if moment > begins]
    return min(ahead, default=None)


def closed(memory: Standing, at: datetime, successor: UUID) -> Place:
    """``memory`` where something else begins to hold in its place."""
    begins = memory.valid_from
    until = at if memory.valid_until is None else min(memory.valid_until, at)
    return Place(
        id=memory.id,
        status="superseded",
        valid_from=begins,
        valid_until=max(until, begins),
        superseded_by=successor,
    )


def placed(memory: Standing, begins: datetime, successor: Standing | None) -> Place:
    """``memory`` where it holds again from ``begins`` on, until ``successor``."""
    held = memory.valid_from, begins if memory.valid_until is None else min(memory.valid_until, begins)
    return Place(
        id=memory.id,
        status="superseded" if successor else "current",
        valid_from=begins,
        valid_until=ends(memory.stated_until, begins, successor),
        superseded_by=successor.id if successor else None,
        held_before=held if held[0] < held[1] else None,
    )


def undeleted(memory: Standing) -> Place:
    """``memory`` as it was before it was deleted."""
    return Place(
        id=memory.id,
        status="current",
        valid_from=memory.valid_from,
        valid_until=memory.valid_until,
        superseded_by=None,
    )
