"""What pydantic found wrong, as a reader of an API would like to be told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram.problems import FieldError, InvalidInputProblem

MAX_ERRORS = 50
MAX_FIELD_CHARS = 200
MAX_MESSAGE_CHARS = 400

_PLACES = ("body", "query", "path")
_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not known here",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "string_unicode": "must not contain lone surrogates",
    "recursion_depth_exceeded": "is nested too deeply",
}
_SUBJECT = re.compile(r"^(Value error, |Assertion failed, |\w+ should (?=\w))")


def invalid_input(errors: Iterable[Mapping[str, Any]]) -> InvalidInputProblem:
    """The problem of pydantic's ``errors()``; of many, the first ``MAX_ERRORS`` are told."""
    found = [FieldError(_field(error["loc"]), _message(error)) for error in errors]
    first, *others = found
    more = f" (and {len(others)} more)" if others else ""
    return InvalidInputProblem(f"{first.field}: {first.message}{more}", errors=found[:MAX_ERRORS])


def _field(location: Sequence[int | str]) -> str:
    """A dotted path. What is wrong with the body as a whole is told of ``body``."""
    inner = location[1:] if len(location) > 1 and location[0] in _PLACES else location
    return shortened(".".join(str(part) for part in inner) or "body", MAX_FIELD_CHARS)


def _message(error: Mapping[str, Any]) -> str:
    known = _MESSAGES.get(error["type"])
    said = _SUBJECT.sub(_must, error["msg"]).replace(" after validation", "")
    return known or shortened(said, MAX_MESSAGE_CHARS)


def _must(subject: re.Match[str]) -> str:
    return "must " if subject[0].endswith("should ") else ""


def shortened(text: str, limit: int) -> str:
    """Text that a client sent may be long, and need not be encodable."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode()
