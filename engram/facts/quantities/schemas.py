"""Wire models of numbers that memories declare, and of what is computed from them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from engram.facts.schemas import Predicate
from engram.wire import A_NUMBER, Id, Instant, Label, Name, ResponseModel, WireModel

MAX_QUANTITIES = 8
MAX_UNIT_CHARS = 64
MAX_ROWS = 200
"""Numbers that an answer shows; it is computed from all."""

UnitName = Annotated[Label, Field(max_length=MAX_UNIT_CHARS)]
"""A unit of measurement, such as ``km/h``, ``degC`` or ``EUR``."""

Finite = Annotated[float, Field(allow_inf_nan=False), A_NUMBER]


class Quantity(WireModel):
    """That an attribute of an entity had a value at a moment, as a memory says."""

    entity: Name
    attribute: Predicate = Field(description="Lower snake case, whatever it is written in.")
    value: Finite
    unit: UnitName | None = Field(default=None, description="Such as `km/h`, `degC` or `EUR`; default: a bare number.")
    at: Instant | None = Field(default=None, description="When it was so; default: when the memory begins to hold.")


Quantities = Annotated[list[Quantity], Field(max_length=MAX_QUANTITIES)]


class QuantityOp(StrEnum):
    latest = "latest"
    """The last by its moment."""
    sum = "sum"
    min = "min"
    max = "max"
    avg = "avg"
    count = "count"  # type: ignore[assignment]  # the method of texts is nobody's business here


class ComputedRow(ResponseModel):
    """A number that is behind an answer."""

    memory_id: Id = Field(description="The memory that says so.")
    value: float = Field(description="As it was written.")
    unit: str | None = Field(description="As it was written.")
    converted: float | None = Field(description="In the unit of the answer; null where nothing is converted.")
    at: Instant


class Computed(ResponseModel):
    """What was computed from all numbers of an attribute of an entity."""

    entity: str = Field(description="Its canonical name; as it was asked for where there is none.")
    attribute: str
    op: QuantityOp
    found: bool = Field(description="Whether there is any number to compute from.")
    value: float | None = Field(description="Null where nothing was found; of `count` 0.")
    unit: str | None = Field(description="Null: a bare number.")
    count: int = Field(description="Numbers that it was computed from.")
    rows: list[ComputedRow] = Field(
        description="These, the latest first; of `min` and `max` first the one that it is, and of `latest` only that."
    )
    truncated: bool = Field(description="Whether there are more than these rows. It was computed from all.")
