"""Opaque cursors: where the next page of a list starts."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, TypeAdapter, ValidationError

from engram.characters import storable
from engram.problems import InvalidInputProblem

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_CURSOR_CHARS = 8000
"""A cursor holds a sort key: at most a name of 512 characters of four bytes."""

Key = TypeVar("Key")

Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]

Cursor = Annotated[
    str,
    StringConstraints(max_length=MAX_CURSOR_CHARS),
    Field(json_schema_extra={"minLength": 1, "pattern": "^[A-Za-z0-9_=-]*$"}),
]
"""Text that a list gave. Which text, only ``decode_cursor`` can say."""

CountKey = Annotated[int, Field(ge=0, lt=2**31)]
NameKey = Annotated[str, AfterValidator(storable)]
"""Parts of a sort key. A cursor may come from anybody: whatever is in it has to be what the database takes."""

_PARTS: TypeAdapter[list[JsonValue]] = TypeAdapter(list[JsonValue])


def encode_cursor(*parts: JsonValue) -> str:
    """A cursor from the sort key of the last row of a page."""
    return base64.urlsafe_b64encode(_PARTS.dump_json(list(parts))).decode().rstrip("=")


def decode_cursor(cursor: str, shape: TypeAdapter[Key]) -> Key:
    """The sort key in a cursor. Raises InvalidInputProblem for one that this server did not make."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return shape.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValidationError, ValueError):
        raise InvalidInputProblem.of("cursor", "is not a cursor that this list gave") from None
