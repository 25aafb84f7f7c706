"""Wire models of facts, and the fact itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from engram.characters import LABEL, not_blank, printable, storable
from engram.facts.names import predicate_name
from engram.wire import A_NUMBER, Id, Instant, Label, Query, ResponseModel, Truth, Unit, WireModel, shown_as

MAX_BATCH = 1000
MAX_SOURCES = 64

MAX_MERGES = 5_000
"""That stand, of an agent: each walk reads them."""

MAX_HOPS = 4
MAX_PATHS = 200
DEFAULT_HOPS = 2
DEFAULT_PATHS = 10

Term = Annotated[
    str,
    # In UTF-8 at most 2,048 bytes: an index takes 2,704.
    StringConstraints(min_length=1, max_length=512),
    AfterValidator(storable),
    AfterValidator(printable),
    AfterValidator(not_blank),
    shown_as(pattern=LABEL),
]
"""A subject or an object, as it was written."""


def _named(text: str) -> str:
    name = predicate_name(text)
    if not name:
        raise ValueError("must contain more than spaces, hyphens and underscores")
    return name


Predicate = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),
    AfterValidator(storable),
    AfterValidator(printable),
    AfterValidator(not_blank),
    AfterValidator(_named),
    shown_as(pattern=LABEL),
]
"""The name of a relation, in lower snake case whatever it was written in."""

Sources = Annotated[list[Label], Field(max_length=MAX_SOURCES)]


class ClosurePolicy(StrEnum):
    """Which rule ended a fact before the end that its writer gave."""

    supersession = "supersession"
    """Another object of its subject and predicate begins there."""
    memory = "memory"
    """The memory that it follows from was superseded, deleted or changed."""
    cardinality = "cardinality"
    """Its relation has one value, and a newer one begins there."""
    adapter = "adapter"
    """What its extractor said was expired."""


class Provenance(StrEnum):
    """How a statement follows from the text of its memory."""

    extracted = "extracted"
    """Both ends stand in it."""
    inferred = "inferred"
    facet = "facet"
    """An edge that was made for walking, and that nobody said."""


class FactStatus(StrEnum):
    standing = "standing"
    deleted = "deleted"
    """No longer believed. What it superseded stays superseded."""
    undone = "undone"
    """Taken back, as if it had never been appended: what it superseded holds on."""


def _new_id() -> str:
    # Ids by time need a library that the SDK does without.
    return str(uuid.uuid4())


def _now() -> datetime:
    return datetime.now(UTC)


class Fact(WireModel):
    """That a subject relates so to an object, from ``valid_from`` until ``valid_until`` without that moment.

    ``recorded_at`` is when it was learnt. ``user_id`` None is a partition of its own: facts of no user.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="null")

    id: Id = Field(default_factory=_new_id)
    user_id: Label | None = None
    subject: Term
    predicate: Predicate
    object: Term
    confidence: Unit = 1.0
    valid_from: Instant = Field(default_factory=_now)
    valid_until: Instant | None = Field(default=None, description="When it ceases to hold; null: it holds on.")
    recorded_at: Instant = Field(default_factory=_now)
    sources: Sources = Field(default_factory=list)
    supersede: Truth = Field(
        default=True, description="Whether it ends what else its subject and predicate said when it begins."
    )
    closed_by: ClosurePolicy | None = Field(
        default=None, description="The rule that ended it before the end its writer gave."
    )
    superseded_by: Id | None = Field(default=None, description="The fact that ended it.")

    @model_validator(mode="after")
    def _window(self) -> Fact:
        if self.valid_until is not None and self.valid_until < self.valid_from:
            raise ValueError("valid_until must not be earlier than valid_from")
        return self


class FactItem(WireModel):
    """One fact as a client writes it."""

    user_id: Label | None = Field(default=None, description="Whose fact it is; null: a partition of its own.")
    subject: Term
    predicate: Predicate
    object: Term
    confidence: Unit = 1.0
    valid_from: Instant | None = Field(default=None, description="Default: now.")
    valid_until: Instant | None = Field(default=None, description="When it ceases to hold; default: it holds on.")
    sources: Sources = Field(
        default_factory=list,
        description="Where it comes from. An id of a memory of the agent ties the fact to that memory.",
    )
    supersede: Truth = Field(
        default=True,
        description="End other objects of the subject and predicate when this begins, and end this where one that"
        " is known already begins later. `false`: end nothing, for predicates of many values.",
    )

    @model_validator(mode="after")
    def _window(self) -> FactItem:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


class FactAppend(FactItem):
    agent_id: Id


class FactBatch(WireModel):
    """Facts of one agent, in the order in which they are learnt."""

    agent_id: Id
    items: list[FactItem] = Field(min_length=1, max_length=MAX_BATCH)


class StoredFact(Fact):
    """A fact of an agent."""

    agent_id: Id
    status: FactStatus = FactStatus.standing
    stated_until: Instant | None = Field(description="The end that its writer gave.")
    updated_at: Instant = Field(description="When its end or its status was last changed.")
    memory_id: Id | None = Field(default=None, description="The memory that it follows from; null: it was appended.")
    adapter_name: str | None = Field(default=None, description="Who extracted it; `declared`: the memory's writer.")
    provenance: Provenance | None = None


class FactAppended(StoredFact):
    """A fact as it was stored, and what changed with it."""

    closed: list[Id] = Field(description="Facts that end earlier because of it.")


class FactsAppended(ResponseModel):
    ids: list[Id] = Field(description="In the order given.")
    closed: list[Id] = Field(description="Facts from before that end earlier because of these.")


class FactPage(ResponseModel):
    data: list[StoredFact]
    next_cursor: str | None = Field(description="Pass as `cursor` for the next page; null on the last.")


class FactChanged(StoredFact):
    """A fact after it was deleted, taken back or restored, and what changed with it."""

    changed: list[Id] = Field(description="Other facts that end earlier or later because of that.")


class FactBelief(ResponseModel):
    """What was believed of a fact since ``recorded_at``, until the next."""

    recorded_at: Instant
    status: FactStatus
    valid_until: Instant | None
    closed_by: ClosurePolicy | None
    superseded_by: Id | None


class FactHistory(ResponseModel):
    """A fact, and what was believed of it, the first first."""

    fact: StoredFact
    beliefs: list[FactBelief]


class GraphQuestion(WireModel):
    """A question to the fact graph."""

    agent_id: Id
    query: Query = Field(
        description="Paths begin at names that have a word of three characters or more in common with it."
    )
    user_id: Label | None = Field(default=None, description="Whose facts; null: those of no user.")
    hops: Annotated[int, Field(ge=0, le=MAX_HOPS), A_NUMBER] = DEFAULT_HOPS
    valid_at: Instant | None = Field(default=None, description="What held at this moment; default: what has not ended.")
    known_at: Instant | None = Field(
        default=None, description="As the server knew it at this moment; later changes are not seen."
    )
    limit: Annotated[int, Field(ge=0, le=MAX_PATHS), A_NUMBER] = DEFAULT_PATHS


class PathEdge(ResponseModel):
    """One fact on a path, by the nodes that it names."""

    subject: str
    predicate: str
    object: str
    forward: bool = Field(description="Whether it is walked from subject to object.")
    fact: StoredFact


class SourceMemory(ResponseModel):
    """A memory that a fact names as its source, in short."""

    id: Id
    content: str = Field(description="The beginning of the text.")
    content_truncated: bool = Field(description="Whether the text goes on.")


class FactPath(ResponseModel):
    """A chain of facts, each sharing a node with the next."""

    rendered: str = Field(description="The chain as a person reads it; facts walked backward have their arrow turned.")
    nodes: list[str]
    edges: list[PathEdge]

    def render(self) -> str:
        """``rendered``, by the name that a path of the library has for it."""
        return self.rendered

    @property
    def facts(self) -> list[StoredFact]:
        """The facts behind the hops."""
        return [edge.fact for edge in self.edges]


class FactPaths(ResponseModel):
    """Chains by length, then the most recently learnt first."""

    paths: list[FactPath]
    memories: list[SourceMemory] = Field(description="Memories behind the facts that are shown, by id.")
    truncated: bool = Field(description="There are, or may be, more paths than are shown.")

    def __iter__(self) -> Iterator[FactPath]:  # type: ignore[override]  # a model iterates its fields
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


class MergeCreate(WireModel):
    """Says that two names are one node."""

    agent_id: Id
    name: Term = Field(description="The name that the merged node goes by.")
    other: Term


class Merge(ResponseModel):
    id: Id
    agent_id: Id
    name: str
    other: str
    recorded_at: Instant
    undone_at: Instant | None


class MergeCreated(Merge):
    canonical: str = Field(description="The node's name, which may be that of an earlier merge.")


class MergePage(ResponseModel):
    data: list[Merge]
    next_cursor: str | None
