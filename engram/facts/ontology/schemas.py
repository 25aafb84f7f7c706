"""Wire models of an agent's ontology."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, field_validator

from engram.characters import LABEL
from engram.facts.schemas import Predicate
from engram.wire import Id, Instant, Label, ResponseModel, WireModel, shown_as

MAX_NAMES = 500


class Cardinality(StrEnum):
    one = "one"
    """A subject has one value at a time: a newer one ends the older."""
    many = "many"


_NAME: TypeAdapter[str] = TypeAdapter(Predicate)


def _in_snake_case(names: dict[str, Cardinality]) -> dict[str, Cardinality]:
    found = {}
    for name, cardinality in names.items():
        try:
            found[_NAME.validate_python(name)] = cardinality
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    return found


# Names as keys: as a type of keys they would be a pattern of some properties, which leaves the others free.
Named = Annotated[
    dict[str, Cardinality],
    Field(max_length=MAX_NAMES),
    AfterValidator(_in_snake_case),
    shown_as(propertyNames={"minLength": 1, "maxLength": 256, "pattern": LABEL}),
]
"""Relations by name, in lower snake case whatever they are written in."""


class OntologyUpdate(WireModel):
    """What an agent prefers, as a whole: what is not given again is gone. Nothing is refused for being outside."""

    entity_types: Annotated[list[Label], Field(max_length=MAX_NAMES)] = Field(
        default_factory=list, description="Kinds of entities, for whoever extracts them."
    )
    verbs: Named = Field(
        default_factory=dict, description="Relations, each with how many values a subject may have at a time."
    )
    attributes: Named = Field(default_factory=dict, description="The same for what a subject has.")

    @field_validator("entity_types")
    @classmethod
    def _once(cls, types: list[str]) -> list[str]:
        return list(dict.fromkeys(types))


class Ontology(ResponseModel):
    """What an agent prefers. Of relations with one value those that are built in are not named."""

    agent_id: Id
    entity_types: list[str]
    verbs: dict[str, Cardinality]
    attributes: dict[str, Cardinality]
    updated_at: Instant | None = Field(description="Null: nothing was registered.")


class OntologyRegistered(Ontology):
    """What an agent prefers, and what changed with that."""

    changed: int = Field(description="Facts that end earlier or later because of it.")
