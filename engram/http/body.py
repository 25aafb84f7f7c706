"""Reading a JSON body: strictly, and without holding up the event loop."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request

from engram.http.fields import invalid_input, shortened
from engram.http.problems import BadRequestProblem, UnsupportedMediaTypeProblem
from engram.problems import InvalidInputProblem

M = TypeVar("M", bound=BaseModel)

LARGE = 64 * 1024
"""Bytes from which on a body is read in a thread. Below, the thread would cost more than it spares."""


async def read_body(request: Request, model: type[M]) -> M:
    """The body of a request as a model.

    Raises BadRequestProblem for what is not JSON, UnsupportedMediaTypeProblem for what does not claim to be, and
    InvalidInputProblem, naming the fields, for what is not the model.
    """
    _check_media_type(request.headers)
    raw = await request.body()
    if len(raw) < LARGE:
        return _validated(raw, model)
    return await asyncio.to_thread(_validated, raw, model)


def _check_media_type(headers: Headers) -> None:
    # A missing type is refused too: browsers let any page send a body without one to any address.
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaTypeProblem("Send the body as JSON, with Content-Type: application/json.")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaTypeProblem("Send the body as it is, without a Content-Encoding.")


def _validated(raw: bytes, model: type[M]) -> M:
    try:
        return model.model_validate(_parsed(raw))
    except ValidationError as error:
        raise invalid_input(error.errors(include_url=False, include_context=False, include_input=False)) from None
    except RecursionError:
        raise BadRequestProblem("The body is nested too deeply.") from None


def _parsed(raw: bytes) -> Any:
    """JSON as Python values. NaN and lone surrogates pass: the model knows the field, and refuses them by name."""
    if not raw.strip():
        raise BadRequestProblem("The body is empty; send a JSON object.")
    try:
        return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_distinct)
    except UnicodeDecodeError as error:
        raise BadRequestProblem(f"The body is not UTF-8: byte {error.start} cannot be read.") from None
    except json.JSONDecodeError as error:
        raise BadRequestProblem(
            f"The body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except ValueError:
        # Python's own guard: reading digits takes time by their square.
        raise BadRequestProblem("The body holds a number of more digits than can be read.") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidInputProblem.of(shortened(key, 200), "is given twice in one object")
            seen.add(key)
    return found
