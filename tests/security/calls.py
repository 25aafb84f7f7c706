"""A request for every operation that the OpenAPI document has, with the ids of somebody's things in it.

An operation that is added is covered by what its document says of it. Where that is not enough, building its request
fails and says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from engram.tenants.roles import Role
from tests.fixtures.servers import openapi

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}

# What no schema can know: the one relation in which the things of a test stand, and a name that they share.
VALUES = {"relation_type": "causal", "entity": "Harbour", "attribute": "depth"}

# An edge goes before its ends go, a memory is gone for good after all else, and an agent goes last.
LAST = {"delete_edge": 1, "delete_memory": 2, "delete_memories": 2, "purge_memory": 3, "delete_agent": 4}


@dataclass(frozen=True)
class Call:
    operation: str
    method: str
    path: str
    role: Role | None
    """The least that may; None where anybody may."""
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    lines: str | None = None
    """A body that is no JSON, but lines of it."""
    ids: frozenset[str] = frozenset()
    """Names of the ids that it takes."""

    async def send(self, http: httpx.AsyncClient, headers: Any, **changes: Any) -> httpx.Response:
        sent: dict[str, Any] = {"params": self.params, "json": self.json} | changes
        if self.lines is not None:
            sent["content"] = self.lines
            headers = [*httpx.Headers(headers or {}).raw, *httpx.Headers(NDJSON).raw]
        return await http.request(self.method, self.path, headers=headers, **sent)


def calls(ids: Mapping[str, str]) -> list[Call]:
    """All operations, those that delete at the end."""
    found = [
        _call(path, method, operation, ids)
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    ]
    return sorted(found, key=lambda call: LAST.get(call.operation, 0))


def guarded(ids: Mapping[str, str]) -> list[Call]:
    """Those for which a key is needed."""
    found = [call for call in calls(ids) if call.role is not None]
    assert found, "the document names no roles"
    return found


def _call(path: str, method: str, operation: dict[str, Any], ids: Mapping[str, str]) -> Call:
    name, used = operation["operationId"], set[str]()
    params: dict[str, Any] = {}
    for parameter in operation.get("parameters", ()):
        schema, called = _resolved(parameter["schema"]), parameter["name"]
        if _is_id(schema):
            used.add(called)
            value: Any = _id(called, ids, name)
        elif parameter["required"]:
            assert called in VALUES, f"{name}: say in tests/security/calls.py what to ask of {called}"
            value = VALUES[called]
        else:
            continue
        if parameter["in"] == "path":
            path = path.replace(f"{{{called}}}", value)
        else:
            params[called] = value
    assert "{" not in path, f"{name}: a parameter of its path is no id; tests/security/calls.py does not know any other"
    body = lines = None
    if "application/x-ndjson" in operation.get("requestBody", {}).get("content", {}):
        examples = operation["requestBody"]["content"]["application/x-ndjson"]["examples"]
        lines = next(iter(examples.values()))["value"]
    elif "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        assert content.get("examples"), f"{name} has no example to be sent"
        example = next(iter(content["examples"].values()))["value"]
        body = _with_ids(_resolved(content["schema"]), example, ids, name, used)
    role = operation.get("x-engram-role")
    return Call(name, method.upper(), path, Role(role) if role else None, params, body, lines, frozenset(used))


def _with_ids(schema: dict[str, Any], example: Any, ids: Mapping[str, str], operation: str, used: set[str]) -> Any:
    """An example with all ids that its schema knows of, also those that it left out."""
    if isinstance(example, list):
        return [_with_ids(_resolved(schema.get("items", {})), item, ids, operation, used) for item in example]
    if not isinstance(example, dict):
        return example
    filled = dict(example)
    for name, kind in schema.get("properties", {}).items():
        known = _resolved(kind)
        if _is_id(known):
            used.add(name)
            filled[name] = _id(name, ids, operation)
        elif _is_id(_resolved(known.get("items", {}))):
            used.add(name)
            filled[name] = [_id(name, ids, operation)]
        elif name in filled:
            filled[name] = _with_ids(known, filled[name], ids, operation, used)
    return filled


def _id(name: str, ids: Mapping[str, str], operation: str) -> str:
    assert name in ids, f"{operation}: say in tests/security/worlds.py which id {name} is"
    return ids[name]


def _is_id(schema: dict[str, Any]) -> bool:
    return schema.get("format") == "uuid"


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema behind references, and behind "or null"."""
    while True:
        if "$ref" in schema:
            name = re.sub(".*/", "", schema["$ref"])
            schema = openapi()["components"]["schemas"][name]
        elif kinds := [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]:
            schema = kinds[0]
        else:
            return schema
