"""How problems look on the wire, and how OpenAPI is told of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from pydantic import Field

from engram.wire import ResponseModel

MEDIA_TYPE = "application/problem+json"
SCHEMA = "#/components/schemas/ProblemDocument"

_DESCRIPTIONS = {
    400: "The request cannot be read: malformed JSON, wrong encoding.",
    401: "No API key was sent, or one that opens nothing.",
    403: "The API key is known, and may not do this.",
    404: "There is no such thing, or not for this caller.",
    408: "The body came too slowly; the connection is closed.",
    409: "What is there already does not allow it.",
    413: "The body is larger than this server takes.",
    415: "The body is not JSON.",
    421: "The Host header names another server.",
    422: "The input is wrong; `errors` names the fields.",
    429: "Too many requests with this key; `Retry-After` says when to come back.",
    431: "The head of the request, its address and headers, is too large; the connection is closed.",
    500: "The server failed; its log has more under the request's id.",
    502: "The embedding provider failed. Nothing was stored.",
    503: "The server is busy, or something that it needs is away; `Retry-After` says when to come back.",
    504: "The embedding provider took too long. Nothing was stored.",
}

ANYWHERE = (400, 401, 403, 421, 422, 429, 431, 500, 503)
"""What every endpoint may answer."""

WITH_BODY = (408, 413, 415)
EMBEDDING = (502, 504)


class FieldErrorDocument(ResponseModel):
    field: str = Field(description="A dotted path, such as `items.3.content`.")
    message: str


class ProblemDocument(ResponseModel):
    """A problem as in RFC 9457."""

    type: str = Field(description="A stable slug, such as `not-found`.")
    title: str
    status: int
    detail: str
    errors: list[FieldErrorDocument]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Answers for ``responses=`` of a route or router; ``engram.server.openapi`` adds the schema they refer to."""
    return {status: _response(status) for status in statuses}


def _response(status: int) -> dict[str, Any]:
    return {
        "description": _DESCRIPTIONS.get(status, HTTPStatus(status).phrase),
        "content": {MEDIA_TYPE: {"schema": {"$ref": SCHEMA}}},
    }
