"""The OpenAPI document: FastAPI's, and what it cannot know of our problem documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from engram.http.access import role_needed
from engram.http.documents import ProblemDocument

TAGS = [
    {"name": "agents", "description": "An agent is one memory space; nothing crosses from one to another."},
    {"name": "memories", "description": "Write, read and recall."},
    {"name": "graph", "description": "Typed edges between memories."},
    {"name": "audit", "description": "Who changed what and when."},
    {"name": "health", "description": "For probes and operators."},
]

DESCRIPTION = """\
Memory for AI agents: vector and graph recall on Postgres, explained.

Errors are problem documents (RFC 9457) of type `application/problem+json`; `errors` names the fields that are wrong.
Every answer carries an `X-Request-ID`. Lists page by `cursor`. Times are ISO 8601; one without an offset is UTC.
"""


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
        role = role_needed(route.endpoint) if route.include_in_schema else None
        if role is not None:
            for method in route.methods or ():
                operation = document["paths"][route.path][method.lower()]
                operation["security"] = [{"apiKey": []}]
                operation["x-engram-role"] = role.value


def describe(app: FastAPI, routes: Iterable[APIRoute]) -> dict[str, Any]:
    """The document of an app, computed once. ``routes`` are all that it has of ours, by the routers they are in."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=DESCRIPTION, tags=TAGS, routes=app.routes
        )
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = document["components"]["schemas"]
        schemas.update(schema.pop("$defs"))
        schemas[ProblemDocument.__name__] = schema
        _say_who_may(routes, document)
        app.openapi_schema = document
    return app.openapi_schema
