"""How arguments travel: as JSON, as query parameters, as a part of the path.

Nothing is judged here that the server can judge. What cannot travel at all is refused, by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import Enum
from operator import attrgetter
from typing import Any, Literal, Protocol
from urllib.parse import quote, urlencode
from uuid import UUID

from pydantic import BaseModel

from engram.client._errors import unsendable

_MAX_DEPTH = 20


class ArrayLike(Protocol):
    """An array that knows how to become a list: of numpy, torch and their like."""

    def tolist(self) -> Any: ...


AnyId = str | UUID
"""An id, as the server gives it or as a UUID."""

When = datetime | date | str
"""A moment: a datetime (a naive one is UTC), a date, or ISO 8601 text."""

Vector = Sequence[float] | ArrayLike
"""An embedding: numbers in a list or an array."""


class _NotGiven(Enum):
    """Tells "not given" from None, where None is something to be said."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return self.name


NOT_GIVEN = _NotGiven.NOT_GIVEN
NotGiven = Literal[_NotGiven.NOT_GIVEN]


def said(**arguments: object) -> dict[str, object]:
    """The arguments that are given, None among them."""
    return {name: value for name, value in arguments.items() if value is not NOT_GIVEN}


def given(**arguments: object) -> dict[str, object]:
    """The arguments that are not None: None means "not given"."""
    return {name: value for name, value in arguments.items() if value is not None}


def to_json(body: Mapping[str, object]) -> bytes:
    """The body of a request, in ASCII: any text can travel, and the server can say what is wrong with it.

    Raises UnprocessableEntityError, naming the field, for what JSON does not know: NaN, sets, bytes.
    """
    try:
        return _dump(body).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        path, culprit = _culprit(body)
        raise unsendable(path, _complaint(culprit, error)) from None


def to_json_text(name: str, value: object) -> str:
    """One argument as JSON in a text, for where a body cannot travel. Raises as ``to_json``."""
    try:
        return _dump(value)
    except (TypeError, ValueError, RecursionError) as error:
        path, culprit = _culprit({name: value})
        raise unsendable(path, _complaint(culprit, error)) from None


def to_query(params: Mapping[str, object]) -> str:
    """The query string; a list becomes a repeated parameter.

    Raises UnprocessableEntityError where a text cannot be encoded.
    """
    pairs = [(name, text) for name, value in params.items() for text in _texts(value)]
    for name, text in pairs:
        _check_encodable(name, text)
    return urlencode(pairs)


def to_path(template: str, **ids: AnyId) -> str:
    """The path with each ``{name}`` replaced by an id.

    Raises UnprocessableEntityError where an id would make it another path.
    """
    texts = {name: str(value) for name, value in ids.items()}
    for name, text in texts.items():
        _check_encodable(name, text)
        # Dots alone walk up the path, and nothing at all names the collection.
        if not text.strip(". \t\r\n"):
            raise unsendable(name, "must not be blank" if not text.strip() else "must be a UUID")
    return template.format(**{name: quote(text, safe="") for name, text in texts.items()})


def _dump(value: object) -> str:
    return json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """What ``json`` does not know, as something that it does."""
    for kind, plain in _PLAIN:
        if isinstance(value, kind):
            return plain(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def _iso(moment: datetime) -> str:
    # In UTC, because an offset may have seconds (local mean time), which ISO 8601 does not know.
    try:
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()
    except OverflowError:
        return moment.isoformat()


_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (datetime, _iso),  # before date, which it is too
    (date, date.isoformat),
    (UUID, str),
    (Enum, attrgetter("value")),
    (BaseModel, lambda model: model.model_dump(mode="json", exclude_unset=True)),
    (Mapping, dict),
)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, date | UUID | Enum):
        yield str(_plain(value))
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        items = list(value)
        for item in items:
            yield from _texts(item)
        if not items:
            # No parameter would mean "no filter"; an empty one is refused by the server, by name.
            yield ""
    else:
        yield str(value)


def _check_encodable(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise unsendable(name, f"must not contain lone surrogates (character {error.start})") from None


def _culprit(value: object) -> tuple[str, object]:
    """The innermost part of a value that cannot be dumped, and the way to it."""
    path: list[str] = []
    while len(path) < _MAX_DEPTH:
        for key, child in _children(value):
            try:
                _dump(child)
            except (TypeError, ValueError, RecursionError):
                path.append(str(key))
                value = child
                break
        else:
            break
    # What is as deep as this has no end, or none worth naming.
    return ".".join(path if len(path) < _MAX_DEPTH else path[:1]), value


def _children(value: Any) -> Iterable[tuple[object, object]]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _complaint(value: object, error: Exception) -> str:
    if isinstance(value.tolist() if hasattr(value, "tolist") else value, float):
        return "must not be NaN or infinite"
    if isinstance(value, int):
        return "has too many digits"
    return "is nested too deeply, or contains itself" if isinstance(error, RecursionError) else str(error)
