"""A memory that is about to be changed, as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from engram.embeddings.base import Vectors
from engram.memories.dedup import dedup_hash

TICK = timedelta(microseconds=1)
"""What the database tells moments apart by."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of ``memories``, locked by whoever reads it so."""

    id: UUID
    agent_id: UUID
    status: str
    version: int
    content: str
    user_id: str | None
    session_id: str | None
    key: str | None
    slot_hash: bytes | None
    tags: list[str]
    metadata: dict[str, Any]
    source: str | None
    confidence: float
    valid_from: datetime
    valid_until: datetime | None
    stated_until: datetime | None
    recorded_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    superseded_by: UUID | None
    declared_entities: list[dict[str, str]]
    declared_relations: list[dict[str, Any]]
    declared_quantities: list[dict[str, Any]]
    sensitivity: str
    withheld: bool
    dedup_hash: bytes | None
    chunks: int
    embedding: Vectors

    @property
    def deleted(self) -> bool:
        return self.status == "deleted"

    @property
    def current(self) -> bool:
        return self.status == "current"

    @property
    def undated(self) -> bool:
        """Whether it stands for the same text without a date, too: its writer gave it none."""
        return self.dedup_hash == dedup_hash(self.content, user_id=self.user_id, session_id=self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a memory stands in time and among others, to be written."""

    id: UUID
    status: str
    valid_from: datetime
    valid_until: datetime | None
    superseded_by: UUID | None
    held_before: tuple[datetime, datetime] | None = None
    """A period in which it held, and that its window does not tell of any more."""


def after(clock: datetime, *standing: Standing | None) -> datetime:
    """A moment at which these may be changed: none of them was changed as late as this.

    Clocks of servers differ, and one may be set back. What is changed later was known later all the same.
    """
    return max([clock, *(memory.updated_at + TICK for memory in standing if memory is not None)])
