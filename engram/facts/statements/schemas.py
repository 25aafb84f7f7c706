"""Wire models of what memories declare of relations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from engram.facts.schemas import Predicate
from engram.wire import Instant, Label, Name, Unit, WireModel

MAX_RELATIONS = 8

DECLARED = "declared"
"""Who extracted what a writer declares, where the writer names nobody."""


class Relation(WireModel):
    """That a subject relates so to an object, as a memory says. A list of three texts is one, too."""

    subject: Name
    predicate: Predicate = Field(description="Lower snake case, whatever it is written in.")
    object: Name
    confidence: Unit = 1.0
    valid_from: Instant | None = Field(default=None, description="Default: when the memory begins to hold.")
    valid_until: Instant | None = Field(default=None, description="Default: when the memory ceases to hold.")
    adapter_name: Label = Field(default=DECLARED, description="Who extracted it.")

    @model_validator(mode="after")
    def _window(self) -> Relation:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


def _spelt_out(value: Any) -> Any:
    """``[subject, predicate, object]`` is a relation."""
    if isinstance(value, list | tuple):
        return [
            dict(zip(("subject", "predicate", "object"), item, strict=True))
            if isinstance(item, list | tuple) and len(item) == 3
            else item
            for item in value
        ]
    return value


_Triple = tuple[Name, Predicate, Name]
Relations = Annotated[
    list[Relation],
    Field(max_length=MAX_RELATIONS),
    BeforeValidator(
        _spelt_out, json_schema_input_type=Annotated[list[Relation | _Triple], Field(max_length=MAX_RELATIONS)]
    ),
]
