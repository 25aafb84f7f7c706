"""Filters on metadata: ``{"field": value}`` or ``{"field": {"op": value, ...}}``, all of them ANDed.

Pure: says what a filter means and refuses what has no meaning. ``memories/predicates.py`` turns it into SQL.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
)

from engram.characters import STORABLE
from engram.wire import Omissible, Storable, storable_json

OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "contains")
_ORDERED = ("gt", "gte", "lt", "lte")
MAX_CONDITIONS = 32
MAX_CHOICES = 1_000

MAX_PATH = 16
"""Steps into inner objects: metadata are nested no deeper."""


def conditions(metadata: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The filter as ``(field, operator, value)`` triples, in a stable order.

    Raises ValueError, naming the field, where an operator is unknown or its value cannot be meant.
    """
    found: list[tuple[str, str, Any]] = []
    for field in sorted(metadata):
        value = metadata[field]
        if not isinstance(value, dict):
            found.append((field, "eq", value))
            continue
        if not value:
            raise ValueError(f"{field}: an empty object is not a condition; use {{'eq': {{}}}} to compare with it")
        found.extend((field, operator, _checked(field, operator, value[operator])) for operator in sorted(value))
    if len(found) > MAX_CONDITIONS:
        raise ValueError(f"at most {MAX_CONDITIONS} conditions")
    return found


def path_of(field: str) -> list[str]:
    """The steps of a dotted field into inner objects; the field alone where it has no dots, or more than any metadata
    could follow. A key that is spelt like the whole field goes before."""
    steps = field.split(".")
    return steps if len(steps) <= MAX_PATH else [field]


def _checked(field: str, operator: str, operand: Any) -> Any:
    if operator not in OPERATORS:
        raise ValueError(f"{field}: unknown operator {operator!r}; one of {', '.join(OPERATORS)}")
    if operator == "in" and not isinstance(operand, list):
        raise ValueError(f"{field}: 'in' takes a list")
    if operator == "in" and len(operand) > MAX_CHOICES:
        raise ValueError(f"{field}: 'in' takes at most {MAX_CHOICES} values")
    if operator == "exists" and not isinstance(operand, bool):
        raise ValueError(f"{field}: 'exists' takes true or false")
    if operator in _ORDERED and (isinstance(operand, bool) or not isinstance(operand, str | int | float)):
        raise ValueError(f"{field}: {operator!r} takes a number or a text")
    if operator == "contains" and isinstance(operand, dict | list):
        raise ValueError(f"{field}: 'contains' takes one value")
    return operand


def _checked_filter(metadata: dict[str, Any]) -> dict[str, Any]:
    storable_json(metadata)
    conditions(metadata)
    return metadata


_Number = Annotated[float, Field(gt=-1e308, lt=1e308)]


class MetadataConditions(BaseModel):
    """What must hold of one field of the metadata: all of these."""

    # For a JSON Schema alone: it is ``conditions`` that checks.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 1})

    eq: Omissible[JsonValue] = None
    ne: Omissible[JsonValue] = None
    gt: Omissible[_Number | Storable] = None
    gte: Omissible[_Number | Storable] = None
    lt: Omissible[_Number | Storable] = None
    lte: Omissible[_Number | Storable] = None
    in_: Omissible[list[JsonValue]] = Field(default=None, alias="in")
    exists: Omissible[bool] = None
    contains: Storable | _Number | bool | None = None


_Bare = Storable | _Number | bool | None | list[JsonValue]
_Input = Annotated[
    dict[str, _Bare | MetadataConditions],
    Field(max_length=MAX_CONDITIONS, json_schema_extra={"propertyNames": {"pattern": STORABLE}}),
]

MetadataFilter = Annotated[
    dict[str, JsonValue],
    Field(max_length=MAX_CONDITIONS),
    AfterValidator(_checked_filter),
    BeforeValidator(lambda value: value, json_schema_input_type=_Input),
]
