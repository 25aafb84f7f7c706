"""Wire models of facts by what they say."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from engram.facts.schemas import Provenance
from engram.memories.schemas import MemoryStatus
from engram.wire import Id, Instant, Label, ResponseModel, Unit, WireModel

MAX_TRIPLE_SOURCES = 10


class TripleSort(StrEnum):
    co_occur = "co_occur"
    """What most memories state comes first."""
    recency = "recency"
    """What was stated last comes first."""


class TripleSource(ResponseModel):
    """A memory that states a triple."""

    memory_id: Id
    key: str | None
    status: MemoryStatus | None = Field(default=None, description="Only where it was asked for.")


class Triple(ResponseModel):
    """That an entity relates so to another, by all facts that say so."""

    subject: str = Field(description="The entity's canonical name.")
    subject_display_name: str
    relation: str
    object: str
    object_display_name: str
    co_occur: int = Field(description="Memories that state it; a fact that no memory states counts as one.")
    confidence: float = Field(description="The greatest.")
    provenance: Provenance | None = Field(description="The best; null: it was only appended.")
    adapters: list[str] = Field(description="Who extracted it.")
    valid_from: Instant = Field(description="When the first of them began to hold.")
    valid_until: Instant | None = Field(description="When the last of them ends; null: one holds on.")
    last_seen: Instant = Field(description="When it was stated last.")
    sources: list[TripleSource] | None = Field(
        default=None, description="The last memories to state it, at most ten; only where asked for."
    )
    stale: bool | None = Field(
        default=None,
        description="Whether it has not ended, and every memory behind it was superseded or deleted; only where asked"
        " for.",
    )


class TriplePage(ResponseModel):
    data: list[Triple]
    next_cursor: str | None = Field(description="Pass as `cursor` for the next page; null on the last.")


class AdapterExpiry(WireModel):
    """Which statements are to be believed no longer."""

    agent_id: Id
    adapter_name: Label = Field(description="Who extracted them; `declared`: the memories' writers.")
    max_confidence: Unit | None = Field(default=None, description="Only those of at most this confidence.")


class AdapterExpired(ResponseModel):
    agent_id: Id
    adapter_name: str
    expired: int = Field(description="Facts that are believed no longer. The memories stay.")
    changed: int = Field(description="Other facts that hold on, as what had ended them is gone.")
