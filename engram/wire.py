"""What every wire model is made of: the base model and the field types that refuse bad input by name.

Imports pydantic only, so that the SDK can share it.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from engram.characters import LABEL, NAME, STORABLE, TEXT, not_blank, one_line, printable, storable

T = TypeVar("T")

MAX_CONTENT_CHARS = 2_000_000
MAX_QUERY_CHARS = 10_000
MAX_METADATA_DEPTH = 16
MAX_METADATA_KEYS = 1_000
MAX_METADATA_CHARS = 200_000

_CANONICAL_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.IGNORECASE)


class WireModel(BaseModel):
    """Base of all wire models: unknown fields are refused, and ``model["field"]`` reads like ``model.field``."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")

    def __getitem__(self, name: str) -> Any:
        if name not in type(self).model_fields:
            raise KeyError(name)
        return getattr(self, name)


class ResponseModel(WireModel):
    """Base of what the server answers. A client older than the server ignores what it does not know."""

    model_config = ConfigDict(extra="ignore", ser_json_inf_nan="null")


def _canonical_uuid(value: Any) -> Any:
    # Answers are full of ids that are canonical already: a match takes a tenth of the time of a UUID.
    if type(value) is str and _CANONICAL_UUID.fullmatch(value):
        return value
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("must be a UUID as text")
    try:
        return str(UUID(value))
    except ValueError:
        raise ValueError("must be a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057") from None


def _instant(value: Any) -> datetime:
    """A datetime or ISO 8601 text; numbers are refused, a naive time is UTC, the answer is in UTC."""
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    elif isinstance(value, str) and _ISO.fullmatch(text := value.strip()):
        try:
            moment = datetime.fromisoformat(text.upper().replace(",", "."))
        except ValueError as error:
            raise ValueError(f"is not a valid date: {error}") from None
    else:
        raise ValueError("must be ISO 8601 text, such as 2026-05-01T12:00:00Z")
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999 in UTC") from None


def storable_json(value: Any, depth: int = 0) -> Any:
    if depth > MAX_METADATA_DEPTH:
        raise ValueError(f"must not be nested deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, str):
        storable(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must not contain NaN or infinite numbers")
    elif isinstance(value, int | float) and abs(value) >= 10**308:
        # Of floats too: Postgres keeps numbers in decimal, and gives a large float back as a whole number.
        raise ValueError("must not contain numbers of more than 308 digits")
    elif isinstance(value, dict):
        for key, item in value.items():
            storable(key)
            storable_json(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            storable_json(item, depth + 1)
    return value


def _of_bounded_size(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata come back with every memory of a page, and of a recall."""
    keys = chars = 0
    waiting: list[Any] = [metadata]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            keys += len(value)
            chars += sum(map(len, value))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        chars += len(value) if isinstance(value, str) else 1
    if keys > MAX_METADATA_KEYS:
        raise ValueError(f"must not have more than {MAX_METADATA_KEYS} keys, those of inner objects included")
    if chars > MAX_METADATA_CHARS:
        raise ValueError(f"must not have more than {MAX_METADATA_CHARS} characters")
    return metadata


def _no_truth_value(value: Any) -> Any:
    # Python takes true for 1.
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _no_number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def shown_as(**schema: Any) -> Any:
    """What a JSON Schema says of a field beside what pydantic knows: rules that validators keep."""
    return Field(json_schema_extra=schema)


class _NotNull:
    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        shown = handler(schema)
        choices = [choice for choice in shown.pop("anyOf") if choice != {"type": "null"}]
        return {**choices[0], **shown} if len(choices) == 1 else {"anyOf": choices, **shown}


Omissible = Annotated[T | None, _NotNull()]
"""What may be left out, which is None here; null is not sent, and no JSON Schema speaks of it."""

Id = Annotated[
    str,
    BeforeValidator(_canonical_uuid),
    shown_as(format="uuid", examples=["01890a5d-ac96-774b-bcce-b302099a8057"]),
]
"""A UUID as text, in canonical spelling."""

Content = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_CONTENT_CHARS),
    AfterValidator(storable),
    AfterValidator(not_blank),
    shown_as(pattern=TEXT),
]
"""A memory's text: stored to the letter."""

Query = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_QUERY_CHARS),
    AfterValidator(storable),
    AfterValidator(not_blank),
    shown_as(pattern=TEXT),
]

Label = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),
    AfterValidator(storable),
    AfterValidator(printable),
    AfterValidator(not_blank),
    shown_as(pattern=LABEL),
]
"""A short identifier that the caller chose: user, session, tag, source."""

Name = Annotated[
    str,
    # In UTF-8 at most 2,048 bytes: a unique index takes 2,704.
    StringConstraints(min_length=1, max_length=512),
    AfterValidator(storable),
    AfterValidator(one_line),
    AfterValidator(printable),
    AfterValidator(not_blank),
    shown_as(pattern=NAME),
]
"""A name that a person would read: white space and line breaks collapse to one space."""

Storable = Annotated[str, AfterValidator(storable), shown_as(pattern=STORABLE)]

Note = Annotated[Storable, StringConstraints(max_length=4000)]

Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    shown_as(format="date-time", examples=["2026-05-01T12:00:00Z"]),
]
"""A moment in UTC. Input may be a datetime or ISO 8601 text; without an offset it is read as UTC."""

Metadata = Annotated[dict[str, JsonValue], AfterValidator(storable_json), shown_as(propertyNames={"pattern": STORABLE})]

NewMetadata = Annotated[Metadata, AfterValidator(_of_bounded_size)]
"""Metadata to be stored. What is stored already may be larger."""

A_NUMBER = BeforeValidator(_no_truth_value)
"""For ``int`` and ``float`` in a body: a number, or one as text, and no truth value."""

Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), A_NUMBER]
"""A number in [0, 1]."""

Truth = Annotated[bool, BeforeValidator(_no_number)]
"""A truth value, or one as text."""

Embedding = Annotated[
    list[Annotated[float, Field(strict=True, allow_inf_nan=False)]], Field(min_length=1, max_length=16000)
]
