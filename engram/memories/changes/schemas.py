"""Wire models of changing memories."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import ConfigDict, Field, field_validator, model_validator

from engram.facts.quantities.schemas import Quantities
from engram.facts.statements.schemas import Relations
from engram.memories.schemas import (
    Entities,
    Memory,
    MemoryDetail,
    MemoryItem,
    OntologyWarnings,
    Sensitivity,
    Tags,
)
from engram.wire import (
    A_NUMBER,
    Content,
    Embedding,
    Id,
    Instant,
    Label,
    Name,
    NewMetadata,
    Omissible,
    ResponseModel,
    Unit,
    WireModel,
)

T = TypeVar("T")

Version = Annotated[int, Field(ge=1, le=2**31 - 2), A_NUMBER]


class MemorySet(MemoryItem):
    """The value of a key. A key is a slot in its partition of user and session."""

    agent_id: Id
    key: Name


class MemoryUpdate(WireModel):
    """What is left out stays as it is. ``null`` takes away what may be missing: ``source`` and ``valid_until``."""

    model_config = ConfigDict(json_schema_extra={"dependentRequired": {"embedding": ["content"]}})

    content: Omissible[Content] = None
    tags: Omissible[Tags] = None
    metadata: Omissible[NewMetadata] = Field(default=None, description="All of it: what is not given again is gone.")
    source: Label | None = None
    confidence: Omissible[Unit] = None
    valid_from: Omissible[Instant] = None
    valid_until: Instant | None = None
    entities: Omissible[Entities] = Field(default=None, description="All that it declares.")
    relations: Omissible[Relations] = Field(default=None, description="All that it declares.")
    quantities: Omissible[Quantities] = Field(default=None, description="All that it declares.")
    sensitivity: Omissible[Sensitivity] = Field(default=None, description="What was made of the memory follows it.")
    embedding: Omissible[Embedding] = Field(default=None, description="Of the new content, instead of computing one.")
    if_version: Omissible[Version] = Field(
        default=None, description="Change it only where this is its version; else the answer is 409."
    )

    @field_validator(
        "content",
        "tags",
        "metadata",
        "confidence",
        "valid_from",
        "entities",
        "relations",
        "quantities",
        "sensitivity",
        "embedding",
        "if_version",
    )
    @classmethod
    def _is_said(cls, value: T | None) -> T:
        if value is None:
            raise ValueError("must not be null")
        return value

    @model_validator(mode="after")
    def _embedding_of_something(self) -> MemoryUpdate:
        if self.embedding is not None and self.content is None:
            raise ValueError("embedding comes with the content that it is of")
        return self


class MemoryUpdated(MemoryDetail):
    """A memory as it was changed."""

    ontology_warnings: OntologyWarnings = Field(default_factory=list)


class MemoryVersion(Memory):
    """What a memory was, or is where ``recorded_until`` is null. ``updated_at`` is since when it was known so."""

    recorded_until: Instant | None
    ended_by: str | None = Field(
        description="What changed it: `set`, `supersede`, `update`, `delete` or `restore`; null where it stands."
    )


class MemoryHistory(ResponseModel):
    data: list[MemoryVersion]
    next_cursor: str | None


class MemoryPurged(ResponseModel):
    """What was erased, for good."""

    id: Id
    agent_id: Id
    purged_at: Instant
    memories: int
    versions: int
    terms: int = Field(description="Postings of the words that found it.")
    passages: int
    mentions: int
    edges: int = Field(description="With what they were before.")
    statements: int = Field(default=0, description="Facts that followed from it.")
    quantities: int = Field(default=0, description="Numbers that followed from it.")
    entities: int = Field(description="Names that no other memory names.")
    facts: int = Field(default=0, description="Those that no other memory is a source of.")
    answers: int = Field(description="Answers kept for repeated requests.")
