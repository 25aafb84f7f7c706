"""Wire models of memories."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from engram.facts.quantities.schemas import Quantities, Quantity
from engram.facts.statements.schemas import Relation, Relations
from engram.memories.criteria import Criteria
from engram.wire import (
    A_NUMBER,
    Content,
    Embedding,
    Id,
    Instant,
    Label,
    Metadata,
    Name,
    NewMetadata,
    ResponseModel,
    Truth,
    Unit,
    WireModel,
)

MAX_BATCH = 1000
MAX_DELETED = 10_000
MAX_TAGS = 64
MAX_ENTITIES = 64


class Sensitivity(StrEnum):
    """What may be made of a memory beside what finds it."""

    normal = "normal"
    high = "high"
    """Of its text nothing: only what its writer declared, and in a batch not even that."""


class EntityRole(StrEnum):
    """What a memory has to do with an entity: it is *about* a subject, and names a mention in passing."""

    subject = "subject"
    mention = "mention"


class EntityRef(WireModel):
    name: Name
    role: EntityRole = EntityRole.mention


class EntityMention(ResponseModel):
    """An entity of a memory. ``recognized`` is true where its name was found in the text, not declared."""

    name: str
    role: EntityRole
    recognized: bool = False


class MemoryStatus(StrEnum):
    current = "current"
    superseded = "superseded"
    deleted = "deleted"


def _bare_names(value: Any) -> Any:
    """A bare string is a mention."""
    if isinstance(value, list | tuple):
        return [{"name": item} if isinstance(item, str) else item for item in value]
    return value


_EntitiesInput = Annotated[list[EntityRef | Name], Field(max_length=MAX_ENTITIES)]
Entities = Annotated[
    list[EntityRef],
    Field(max_length=MAX_ENTITIES),
    BeforeValidator(_bare_names, json_schema_input_type=_EntitiesInput),
]
Tags = Annotated[list[Label], Field(max_length=MAX_TAGS)]
OntologyWarnings = Annotated[
    list[str], Field(description="Relations that the agent's ontology does not name. They are written all the same.")
]


class MemoryItem(WireModel):
    """A memory to be written."""

    content: Content
    user_id: Label | None = None
    session_id: Label | None = None
    tags: Tags = Field(default_factory=list)
    metadata: NewMetadata = Field(default_factory=dict)
    source: Label | None = None
    confidence: Unit = 1.0
    valid_from: Instant | None = Field(default=None, description="When it began to hold; default: now.")
    valid_until: Instant | None = Field(default=None, description="When it ceased to hold (exclusive).")
    entities: Entities = Field(
        default_factory=list,
        description="Names the memory is about (`subject`) or mentions. A bare string is a mention.",
    )
    relations: Relations = Field(
        default_factory=list, description="What it says of how entities relate: facts that hold as long as it does."
    )
    quantities: Quantities = Field(
        default_factory=list, description="Numbers that it says entities have: they count as long as it holds."
    )
    sensitivity: Sensitivity = Field(
        default=Sensitivity.normal,
        description="`high`: nothing is made of its text but what finds it; of one in a batch, nothing at all.",
    )
    embedding: Embedding | None = Field(
        default=None, description="Used instead of computing one; must have the model's dimension."
    )

    @model_validator(mode="after")
    def _window(self) -> MemoryItem:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


class MemoryCreate(MemoryItem):
    agent_id: Id


class MemoryBatch(WireModel):
    agent_id: Id
    items: list[MemoryItem] = Field(min_length=1, max_length=MAX_BATCH)


class Memory(ResponseModel):
    id: Id
    agent_id: Id
    content: str
    key: str | None = None
    user_id: str | None
    session_id: str | None
    tags: list[str]
    metadata: Metadata
    source: str | None
    confidence: float
    valid_from: Instant
    valid_until: Instant | None
    recorded_at: Instant
    updated_at: Instant
    superseded_by: Id | None = None
    status: MemoryStatus
    version: int = Field(default=1, description="Counts its changes, from 1.")


class MemoryDetail(Memory):
    """One memory with the entities it names, and the relations and numbers it declares."""

    entities: list[EntityMention]
    relations: list[Relation] = Field(default_factory=list)
    quantities: list[Quantity] = Field(default_factory=list)
    sensitivity: Sensitivity = Sensitivity.normal


class MemoryCreated(MemoryDetail):
    """``deduplicated``: the same memory stood already, and is returned. ``linked``: its links are made; where
    false, linking failed, was recorded and will be tried again. ``chunks``: pieces the text was embedded in."""

    deduplicated: bool
    linked: bool
    chunks: int = 1
    ontology_warnings: OntologyWarnings = Field(default_factory=list)


class BatchResult(ResponseModel):
    """What became of one item of a batch, in the order given."""

    id: Id
    deduplicated: bool


class BatchCreated(ResponseModel):
    results: list[BatchResult]
    created: int
    deduplicated: int
    linked: bool
    ontology_warnings: OntologyWarnings = Field(default_factory=list)


class MemoryPage(ResponseModel):
    data: list[Memory]
    next_cursor: str | None
    total: int | None = Field(default=None, description="All that match; only where `include_total` was set.")


class MemoryDeleted(ResponseModel):
    id: Id
    status: MemoryStatus


class MemoriesDelete(Criteria):
    """What is to be deleted: at least one criterion, or ``all``; ``as_of`` alone and ``current`` alone are none."""

    agent_id: Id
    status: Literal["current", "superseded"] | None = Field(default=None, description="Only of this status.")
    all: Truth = Field(default=False, description="All that the agent holds: for want of any other criterion.")
    dry_run: Truth = Field(default=False, description="Delete nothing, and say what would be.")
    limit: Annotated[int, Field(ge=1, le=MAX_DELETED), A_NUMBER] = Field(
        default=MAX_DELETED, description="At most so many, the first to arrive first."
    )

    @model_validator(mode="after")
    def _meant(self) -> MemoriesDelete:
        restricts = self.restricts or self.status == "superseded"
        if not (self.all or restricts):
            raise ValueError("say which memories: give a criterion, or all: true")
        if self.all and restricts:
            raise ValueError("all: true goes with no other criterion")
        return self


class MemoriesDeleted(ResponseModel):
    """``matched`` when the deletion began: of these ``deleted`` by it, and ``remaining``, as the limit did not reach
    them. What somebody else deleted meanwhile is neither."""

    matched: int
    deleted: int
    remaining: int
    dry_run: bool = False
    sample: list[Id] = Field(default_factory=list, description="Of a dry run: some of what would be deleted.")
