"""Where the API takes text, as the OpenAPI document says: in bodies, however deep, in maps, queries, paths, headers."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tests.fixtures.servers import openapi

KEY = "<key>"
"""In a path: the name of a field of a map, in which the text stands itself."""
_DEPTH = 2
"""How often a schema is gone into that holds itself."""

Way = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """One place: an operation, where in its request, the way there and its schema.

    ``inside`` is ``body``, ``query``, ``path`` or ``header``.
    """

    operation: str
    method: str
    path: str
    inside: str
    way: Way
    schema: tuple[tuple[str, Any], ...]

    def says(self, keyword: str) -> Any:
        return dict(self.schema).get(keyword)

    def put(self, request: Any, text: str) -> Any:
        """The request with the text in this place."""
        return _put(deepcopy(request), self.way, text)

    def taken_from(self, answer: Any) -> Any:
        """What stands in this place of an answer that has the same fields."""
        for step in self.way:
            answer = next(iter(answer)) if step == KEY else answer[step]
        return answer


def places() -> list[Place]:
    """All of them."""
    found = [
        Place(operation["operationId"], method.upper(), path, inside, way, _said(schema))
        for path, methods in openapi()["paths"].items()
        for method, operation in methods.items()
        for inside, begin, whole in _inputs(operation)
        for way, schema in _texts(whole, begin)
    ]
    return list(dict.fromkeys(found))


def _inputs(operation: dict[str, Any]) -> Iterator[tuple[str, Way, dict[str, Any]]]:
    """Where an operation takes something, the way to begin with, and its schema."""
    for parameter in operation.get("parameters", ()):
        yield parameter["in"], (parameter["name"],), parameter["schema"]
    # What is no JSON is lines of it, each of which is tested where exports are.
    if (body := operation.get("requestBody", {}).get("content", {}).get("application/json")) is not None:
        yield "body", (), body["schema"]


def _said(schema: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    said = {name: value for name, value in schema.items() if isinstance(value, str | int)}
    return tuple(sorted((said | {"enum": "enum" in schema}).items()))


def _texts(schema: dict[str, Any], way: Way, within: tuple[str, ...] = ()) -> Iterator[tuple[Way, dict[str, Any]]]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        within, schema = (*within, name), openapi()["components"]["schemas"][name]
        if within.count(name) > _DEPTH:
            return
    if schema.get("type") == "string":
        yield way, schema
    for choice in schema.get("anyOf", ()):
        yield from _texts(choice, way, within)
    for name, inner in schema.get("properties", {}).items():
        yield from _texts(inner, (*way, name), within)
    if isinstance(inner := schema.get("additionalProperties"), dict):
        names = schema.get("propertyNames", {})
        named = openapi()["components"]["schemas"][names["$ref"].rpartition("/")[2]] if "$ref" in names else names
        yield (*way, KEY), {"type": "string", **named}
        yield from _texts(inner, (*way, "k"), within)
    if isinstance(inner := schema.get("items"), dict):
        yield from _texts(inner, (*way, 0), within)


def _put(place: Any, way: Way, text: str) -> Any:
    if not way:
        return text
    step, rest = way[0], way[1:]
    if step == 0:
        held = place if isinstance(place, list) and place else [None]
        return [_put(held[0], rest, text), *held[1:]]
    if step == KEY:
        return {text: 1}
    held = place if isinstance(place, dict) else {}
    return held | {step: _put(held.get(step), rest, text)}
