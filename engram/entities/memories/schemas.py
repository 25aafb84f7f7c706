"""Wire models of memories that are found by what they name."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from engram.memories.schemas import Memory
from engram.wire import Id, ResponseModel


class TimeOrder(StrEnum):
    """Of what began at different moments: which comes first."""

    oldest = "oldest"
    newest = "newest"


class RelatedMemory(Memory):
    """A memory that shares entities with another. ``score``: each of them adds 1 / sqrt(how many memories name it)."""

    score: float
    entities: list[str] = Field(description="Names that both have, the most telling first.")


class RelatedMemories(ResponseModel):
    """What shares entities with a memory, the most telling first."""

    memory_id: Id
    data: list[RelatedMemory]
    truncated: bool = Field(description="There are more.")


class Timeline(ResponseModel):
    """What names an entity, in the order in which it began to hold."""

    entity: str
    found: bool
    data: list[Memory]
    next_cursor: str | None
