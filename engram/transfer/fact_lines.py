"""Wire models of the facts of an agent on their way from one server to another. How they are found is computed anew."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from engram.characters import not_blank, printable, storable
from engram.facts.names import node_name, predicate_name
from engram.facts.schemas import MAX_SOURCES, Term
from engram.transfer.line import Line, Recorded
from engram.wire import Id, Instant, Label, Unit


def _canonical(text: str) -> str:
    if predicate_name(text) != text:
        raise ValueError("must be in lower snake case")
    return text


CanonicalPredicate = Annotated[
    str,
    # In snake case it may be longer than it was written.
    StringConstraints(min_length=1, max_length=1024),
    AfterValidator(storable),
    AfterValidator(printable),
    AfterValidator(not_blank),
    AfterValidator(_canonical),
]


class _Belief(Line):
    """What is believed of a fact, or was."""

    status: Literal["standing", "deleted", "undone"]
    valid_until: Instant | None
    closed_by: Literal["supersession"] | None
    superseded_by: Id | None
    recorded_at: Recorded

    @model_validator(mode="after")
    def _closed(self) -> _Belief:
        if (self.closed_by is None) != (self.superseded_by is None):
            raise ValueError("closed_by and superseded_by must be given together, or neither")
        if self.superseded_by is not None and self.valid_until is None:
            raise ValueError("valid_until must be given where superseded_by is")
        return self


class FactLine(_Belief):
    type: Literal["fact"]
    id: Id
    user_id: Label | None
    subject: Term
    predicate: CanonicalPredicate
    object: Term
    confidence: Unit
    valid_from: Instant
    stated_until: Instant | None
    supersede: bool
    sources: Annotated[list[Label], Field(max_length=MAX_SOURCES)]
    updated_at: Recorded

    @model_validator(mode="after")
    def _sane(self) -> FactLine:
        if self.valid_until is not None and self.valid_until < self.valid_from:
            raise ValueError("valid_until must not be earlier than valid_from")
        if self.stated_until is not None and self.stated_until < self.valid_from:
            raise ValueError("stated_until must not be earlier than valid_from")
        if self.superseded_by is None and self.valid_until != self.stated_until:
            raise ValueError("valid_until must be stated_until where superseded_by is null")
        if self.superseded_by == self.id:
            raise ValueError("superseded_by must be another fact")
        if self.updated_at < self.recorded_at:
            raise ValueError("updated_at must not be earlier than recorded_at")
        return self


class FactClosureLine(_Belief):
    type: Literal["fact_closure"]
    fact_id: Id


class MergeLine(Line):
    type: Literal["merge"]
    id: Id
    name: Term
    other: Term
    recorded_at: Recorded
    undone_at: Recorded | None

    @model_validator(mode="after")
    def _sane(self) -> MergeLine:
        if node_name(self.name) == node_name(self.other):
            raise ValueError("name and other must be two nodes")
        if self.undone_at is not None and self.undone_at < self.recorded_at:
            raise ValueError("undone_at must not be earlier than recorded_at")
        return self
