"""Wire models of an agent on its way from one server to another: the lines of an export, and an import's answer."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from engram.agents.schemas import Agent
from engram.facts.ontology.schemas import MAX_NAMES
from engram.facts.quantities.schemas import MAX_QUANTITIES, Finite, UnitName
from engram.facts.schemas import Predicate
from engram.facts.statements.schemas import MAX_RELATIONS
from engram.memories.schemas import Tags
from engram.transfer.fact_lines import FactClosureLine, FactLine, MergeLine
from engram.transfer.line import Line, Recorded
from engram.wire import Content, Id, Instant, Label, Metadata, Name, Note, ResponseModel, Storable, Unit

FORMAT = "engram-agent"
FORMAT_VERSION = 1

MEDIA_TYPE = "application/x-ndjson"

MAX_CANONICAL_BYTES = 2600
"""Of a canonical name: a unique index takes little more."""

Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A number of chunks."""

Version = Annotated[int, Field(ge=1, le=2**30)]
"""Counts changes. The database counts twice as far: a memory that comes can be changed on and on."""

Packed = Annotated[str, StringConstraints(max_length=16000 * 4 * 4 // 3 + 4)]
"""A vector: float32 numbers, little-endian, in base64."""

Period = Annotated[list[Instant | None], Field(min_length=2, max_length=2)]
"""From the first moment on, up to the second without it; null has no bound."""


def _ordered(periods: list[Period]) -> list[Period]:
    for begins, ends in periods:
        if begins is not None and ends is not None and ends <= begins:
            raise ValueError("must hold periods that end later than they begin")
    return periods


Periods = Annotated[list[Period], Field(min_length=1), AfterValidator(_ordered)]


def _indexable(name: str) -> str:
    if len(name.encode()) > MAX_CANONICAL_BYTES:
        raise ValueError(f"must not have more than {MAX_CANONICAL_BYTES} bytes")
    return name


CanonicalName = Annotated[Storable, StringConstraints(min_length=1), AfterValidator(_indexable)]
Word = Annotated[Storable, StringConstraints(min_length=1, max_length=256)]


Relation = Literal[
    "entity_link", "causal", "temporal", "thematic", "contradicts", "supports", "derived_from", "supersedes"
]
Owed = Literal["entities", "thematic"]
Ending = Literal["set", "supersede", "update", "delete", "restore"]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class ExportedOntology(Line):
    entity_types: Annotated[list[Label], Field(max_length=MAX_NAMES)]
    verbs: dict[Predicate, Literal["one", "many"]]
    attributes: dict[Predicate, Literal["one", "many"]]


class ExportedAgent(Line):
    id: Id
    name: Name
    language: str
    metadata: Metadata
    decay_multipliers: dict[Relation, Share] = Field(default_factory=dict)
    hop_penalty: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    ontology: ExportedOntology | None = None
    created_at: Recorded
    updated_at: Recorded


class ExportedModel(Line):
    """The embedding model of the vectors."""

    provider: Storable
    name: Storable
    dimension: Annotated[int, Field(ge=1, le=16000)]


class ExportOptions(Line):
    """What was asked for."""

    embeddings: bool
    history: bool
    as_of: Instant | None
    known_at: Instant | None


class Counts(Line):
    """Lines by their type."""

    memory: Count = 0
    memory_version: Count = 0
    entity: Count = 0
    mention: Count = 0
    edge: Count = 0
    edge_version: Count = 0
    fact: Count = 0
    fact_closure: Count = 0
    merge: Count = 0


class HeaderLine(Line):
    type: Literal["header"]
    format: Literal["engram-agent"]
    version: Literal[1]
    exported_at: Instant
    agent: ExportedAgent
    model: ExportedModel
    options: ExportOptions
    counts: Counts


class DeclaredEntity(Line):
    name: Name
    role: Literal["subject", "mention"]


class DeclaredRelation(Line):
    subject: Name
    predicate: Predicate
    object: Name
    confidence: Unit
    valid_from: Instant | None
    valid_until: Instant | None
    adapter_name: Label
    stated_at: Recorded | None = None


class DeclaredQuantity(Line):
    entity: Name
    attribute: Predicate
    value: Finite
    unit: UnitName | None
    at: Instant | None


class _State(Line):
    """What a memory is, or was."""

    status: Literal["current", "superseded", "deleted"]
    content: Content
    key: Name | None
    user_id: Label | None
    session_id: Label | None
    tags: Tags
    metadata: Metadata
    source: Label | None
    confidence: Unit
    valid_from: Instant
    valid_until: Instant | None
    stated_until: Instant | None
    earlier: Periods | None
    recorded_at: Recorded
    deleted_at: Recorded | None
    superseded_by: Id | None
    entities: list[DeclaredEntity]
    relations: Annotated[list[DeclaredRelation], Field(max_length=MAX_RELATIONS)] = Field(default_factory=list)
    quantities: Annotated[list[DeclaredQuantity], Field(max_length=MAX_QUANTITIES)] = Field(default_factory=list)
    sensitivity: Literal["normal", "high"] = "normal"
    withheld: bool = False
    chunks: Number
    embedding: Packed | None = None

    @model_validator(mode="after")
    def _sane(self) -> _State:
        if (self.deleted_at is None) == (self.status == "deleted"):
            raise ValueError("deleted_at must be given where the status is deleted, and nowhere else")
        if self.superseded_by is not None and self.status == "current":
            raise ValueError("superseded_by must be null where the status is current")
        return self


class MemoryLine(_State):
    type: Literal["memory"]
    id: Id
    version: Version
    updated_at: Recorded
    stated_at: Recorded | None = None
    twin: Literal["dated", "undated"] | None
    owed: Annotated[list[Owed], Field(max_length=2)] = Field(default_factory=list)
    passages: list[Packed] | None = None

    @model_validator(mode="after")
    def _window(self) -> MemoryLine:
        ends = self.valid_until
        if ends is not None and (ends < self.valid_from or (ends == self.valid_from and self.superseded_by is None)):
            raise ValueError("valid_until must be later than valid_from")
        if self.updated_at < self.recorded_at:
            raise ValueError("updated_at must not be earlier than recorded_at")
        if self.superseded_by == self.id:
            raise ValueError("superseded_by must be another memory")
        return self


class _Past(Line):
    """What was known for a time."""

    recorded_from: Recorded
    recorded_until: Recorded

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.recorded_until <= self.recorded_from:
            raise ValueError("recorded_until must be later than recorded_from")
        return self


class MemoryVersionLine(_State, _Past):
    type: Literal["memory_version"]
    memory_id: Id
    version: Version
    ended_by: Ending


class EntityLine(Line):
    type: Literal["entity"]
    id: Id
    name: CanonicalName
    display_name: Name
    aliases: list[Name]
    created_at: Recorded
    swept_at: Recorded | None


class MentionLine(Line):
    type: Literal["mention"]
    entity_id: Id
    memory_id: Id
    role: Literal["subject", "mention"]
    recognized: bool


class _EdgeState(Line):
    source_id: Id
    target_id: Id
    relation_type: Relation
    weight: Share
    origin: Word
    label: Label | None
    reason: Note | None
    valid_from: Instant | None
    valid_until: Instant | None
    earlier: Periods | None
    recorded_at: Recorded
    invalidated_at: Recorded | None

    @model_validator(mode="after")
    def _sane(self) -> _EdgeState:
        if self.source_id == self.target_id:
            raise ValueError("source_id and target_id must differ")
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


class EdgeLine(_EdgeState):
    type: Literal["edge"]
    updated_at: Recorded


class EdgeVersionLine(_EdgeState, _Past):
    type: Literal["edge_version"]


class FooterLine(Line):
    """``lines`` counts all lines before it; ``sha256`` is of their bytes, line ends included."""

    type: Literal["footer"]
    lines: Count
    counts: Counts
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


RECORDS: dict[str, type[Line]] = {
    "memory": MemoryLine,
    "memory_version": MemoryVersionLine,
    "entity": EntityLine,
    "mention": MentionLine,
    "edge": EdgeLine,
    "edge_version": EdgeVersionLine,
    "fact": FactLine,
    "fact_closure": FactClosureLine,
    "merge": MergeLine,
}
"""The lines between header and footer, in their order."""


class AgentImported(ResponseModel):
    """The agent that was made, and how many lines of each type made it."""

    id: Id = Field(description="The agent's.")
    agent: Agent
    counts: Counts
    embedded: Count = Field(description="Texts that were embedded anew, states of the past included.")
