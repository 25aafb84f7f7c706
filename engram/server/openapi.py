"""The OpenAPI document: FastAPI's, and what it cannot know of our problem documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from engram.characters import STORABLE
from engram.http.access import role_needed
from engram.http.documents import ProblemDocument
from engram.http.idempotency import MAX_KEY_CHARS, REPLAYED, is_write
from engram.idempotency.service import KEY_HEADER
from engram.server.links import links_of
from engram.text.terms import LANGUAGES

TAGS = [
    {"name": "agents", "description": "An agent is one memory space; nothing crosses from one to another."},
    {"name": "memories", "description": "Write, read and recall."},
    {"name": "graph", "description": "Typed edges between memories."},
    {"name": "entities", "description": "What memories name, and what occurs together."},
    {"name": "jobs", "description": "What is done beside requests."},
    {"name": "audit", "description": "Who changed what and when."},
    {"name": "health", "description": "For probes and operators."},
]

DESCRIPTION = """\
Memory for AI agents: vector and graph recall on Postgres, explained.

Errors are problem documents (RFC 9457) of type `application/problem+json`; `errors` names the fields that are wrong.
Every answer carries an `X-Request-ID`. Lists page by `cursor`. Times are ISO 8601; one without an offset is UTC.
"""

_KEY_PARAMETER = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "A new random text for each write. Sent again within 24 hours, the same request under the same key "
    "gets the same answer, and changes nothing; another request under it is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARS, "pattern": r"^[\x21-\x7E]+$"},
    "example": "8e03978e-40d5-43e8-bc93-6894a57f9324",
}
_REPLAYED_HEADER = {
    "description": f"Set where the answer was kept under the `{KEY_HEADER}`, and is given again.",
    "schema": {"type": "string", "enum": ["true"]},
}


def operation_id(route: APIRoute) -> str:
    return route.name


def _say_who_may(routes: Iterable[APIRoute], document: dict[str, Any]) -> None:
    """The key that each operation wants, and the least role of it."""
    document["components"]["securitySchemes"] = {
        "apiKey": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, made with `engram keys create`. A server without any wants none.",
        }
    }
    for route in routes:
        role = role_needed(route.endpoint)
        if role is not None and route.include_in_schema:
            for method in route.methods or ():
                operation = document["paths"][route.path][method.lower()]
                operation["security"] = [{"apiKey": []}]
                operation["x-engram-role"] = role.value
                _say_what_may_be_repeated(route, operation)


def _say_what_may_be_repeated(route: APIRoute, operation: dict[str, Any]) -> None:
    """The header that makes a write repeatable, and the one that marks a repeated answer."""
    if is_write(route, role_needed(route.endpoint)):
        operation.setdefault("parameters", []).append(_KEY_PARAMETER)
        for status, response in operation["responses"].items():
            if status.startswith("2"):
                response.setdefault("headers", {})[REPLAYED] = _REPLAYED_HEADER


def describe(app: FastAPI, routes: Iterable[APIRoute]) -> dict[str, Any]:
    """The document of an app with these routes, computed once. The app itself holds routers, and not their routes."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=DESCRIPTION, tags=TAGS, routes=app.routes
        )
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = document["components"]["schemas"]
        schemas.update(schema.pop("$defs"))
        schemas[ProblemDocument.__name__] = schema
        schemas["JsonValue"] = _JSON_VALUE
        schemas["AgentCreate"]["properties"]["language"]["enum"] = list(LANGUAGES)
        document["components"]["headers"] = _HEADERS
        for operation in (found for methods in document["paths"].values() for found in methods.values()):
            _complete(operation)
        _say_who_may(routes, document)
        app.openapi_schema = document
    return app.openapi_schema


def _complete(operation: dict[str, Any]) -> None:
    """Adds to each answer its headers, and to the good ones where they lead."""
    links = links_of(operation["operationId"])
    for status, answer in operation["responses"].items():
        names = ["X-Request-ID", "Retry-After"] if status == "503" else ["X-Request-ID"]
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        if status.startswith("2") and links:
            answer["links"] = links


_HEADERS = {
    "X-Request-ID": {
        "description": "Names the request, in the log too.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"},
    },
    "Retry-After": {
        "description": "Seconds, where it is known when to come back.",
        "schema": {"type": "integer", "minimum": 0},
    },
}

_ANY_JSON = {"$ref": "#/components/schemas/JsonValue"}
_JSON_VALUE = {
    "title": "JsonValue",
    "description": "Anything that JSON knows. Texts hold no NUL, numbers at most 308 digits.",
    "anyOf": [
        {"type": "string", "pattern": STORABLE},
        {"type": "number", "exclusiveMinimum": -1e308, "exclusiveMaximum": 1e308},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "array", "items": _ANY_JSON},
        {"type": "object", "additionalProperties": _ANY_JSON, "propertyNames": {"pattern": STORABLE}},
    ],
}
