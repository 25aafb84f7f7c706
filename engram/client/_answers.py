"""What an HTTP response means: a model, or an error."""

from __future__ import annotations

from typing import Any

import httpx
from pydantic import ValidationError

from engram.client._errors import APIStatusError, EngramError, FieldError, error_class
from engram.client._request import M, Request
from engram.client._retries import parse_retry_after

_EXCERPT = 200


def read_answer(request: Request[M], response: httpx.Response) -> M:
    """The model that a response carries.

    Raises an APIStatusError for a refusal, and EngramError for an answer that is not what was asked for.
    """
    if response.is_success:
        try:
            return request.model.model_validate_json(response.content or b"{}")
        except ValidationError as error:
            raise EngramError(_not_understood(request, response, error)) from None
    if response.status_code in request.expected:
        try:
            return request.model.model_validate_json(response.content)
        except ValidationError:
            pass  # a proxy's page with the same status
    raise _refusal(response)


def _not_understood(request: Request[Any], response: httpx.Response, error: ValidationError) -> str:
    # Not pydantic's own text: it quotes the input, which may be somebody's memories.
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "body"
    return (
        f"{request.method} {request.path}: the answer ({response.status_code}) is not what this client "
        f"expects: {where}: {first['msg']}. {_excerpt(response)}"
        "Is the base URL that of an Engram server, and is the client as new as the server?"
    )


def _refusal(response: httpx.Response) -> APIStatusError:
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    return error_class(response.status_code)(
        response.status_code,
        _detail(document, response),
        response.headers.get("x-request-id"),
        _fields(document.get("errors")),
        parse_retry_after(response.headers.get("retry-after")),
    )


def _detail(document: dict[str, Any], response: httpx.Response) -> str:
    for name in ("detail", "title"):
        text = document.get(name)
        if isinstance(text, str) and text.strip():
            return text
    if response.is_redirect:
        return f"redirected to {response.headers.get('location')!r}; set the base URL to where the server is"
    return f"{response.reason_phrase or 'no reason given'}. {_excerpt(response)}".rstrip()


def _fields(errors: object) -> list[FieldError]:
    found = []
    for error in errors if isinstance(errors, list) else []:
        try:
            found.append(FieldError.model_validate(error))
        except ValidationError:
            continue
    return found


def _excerpt(response: httpx.Response) -> str:
    """The beginning of a body that is not JSON, to recognise a proxy's page by."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    text = " ".join(response.text[: 4 * _EXCERPT].split())
    if not text or kind == "application/json":
        return ""
    short = text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"
    return f"It came as {kind or 'an unknown type'} and begins with {short!r}. "
