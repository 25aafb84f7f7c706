"""One request, with a text in one place of it."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx

from tests.contract.places import Place
from tests.contract.world import World
from tests.fixtures.servers import openapi

_JSON = {"content-type": "application/json"}
_LINES = {"content-type": "application/x-ndjson"}


def ask(http: httpx.Client, world: World, place: Place, text: str) -> httpx.Response:
    """What the server answers to a request that is right, but for the text perhaps."""
    request = request_for(world, place)
    return send(http, place, world, request if place.inside in ("path", "header") else place.put(request, text), text)


def request_for(world: World, place: Place) -> dict[str, Any]:
    """The body or query of a request that is right, for the place's operation."""
    first, second, *_ = world.memory_ids
    of_agent, edge = {"agent_id": world.agent_id}, {"source_id": first, "target_id": second, "relation_type": "causal"}
    requests: dict[str, dict[str, Any]] = {
        "create_agent": {"name": f"agent {uuid4()}"},
        "create_memory": of_agent | {"content": f"text {uuid4()}"},
        "create_memories": of_agent | {"items": [{"content": f"text {uuid4()}"}]},
        "set_memory": of_agent | {"key": f"key {uuid4()}", "content": f"text {uuid4()}"},
        "supersede_memory": {"content": f"text {uuid4()}"},
        "recall": of_agent | {"query": "Where is Alice?"},
        "list_memories": of_agent,
        "delete_memories": of_agent | {"session_id": "s", "dry_run": True},
        "append_fact": of_agent | _fact(),
        "append_facts": of_agent | {"items": [_fact()]},
        "query_facts": of_agent,
        "list_triples": of_agent,
        "expire_by_adapter": of_agent | {"adapter_name": f"adapter {uuid4()}"},
        "recall_graph": of_agent | {"query": "Where is Alice?"},
        "merge_names": of_agent | {"name": f"name {uuid4()}", "other": f"name {uuid4()}"},
        "list_merges": of_agent,
        "get_edges": {"memory_id": first},
        "get_neighborhood": {"memory_id": first},
        "traverse_entities": of_agent | {"seed_entity": "Alice"},
        "entity_path": of_agent | {"source": "Alice", "target": "Lisbon"},
        "related_entities": of_agent | {"entity": "Alice"},
        "entity_timeline": of_agent | {"entity": "Alice"},
        "compute_number": of_agent | {"entity": "Alice", "attribute": "age"},
        "find_paths": {"source_id": first, "target_id": second},
        "create_edge": edge,
        "create_edges": {"edges": [edge]},
        "delete_edge": edge,
    }
    return _with_whole(requests.get(place.operation, {}), place)


def _with_whole(request: dict[str, Any], place: Place) -> dict[str, Any]:
    """With a whole number or relation to put a text into, where the place is in one."""
    wholes: dict[str, dict[str, Any]] = {
        "quantities": {"entity": "Alice", "attribute": "age", "value": 30},
        "relations": {"subject": "Alice", "predicate": "knows", "object": "Bob Ross"},
    }
    whole = {name: [one] for name, one in wholes.items() if name in place.way}
    if not whole:
        return request
    return request | {"items": [request["items"][0] | whole]} if "items" in request else request | whole


def _fact() -> dict[str, Any]:
    return {"subject": f"subject {uuid4()}", "predicate": "is", "object": "there"}


def send(http: httpx.Client, place: Place, world: World, request: dict[str, Any], text: str) -> httpx.Response:
    """Send a request to the place's operation, with the text in its path or header if the place is there."""
    address = _path(world, place, text)
    headers = [(place.way[0], as_header(text))] if place.inside == "header" else []
    json_body = place.operation != "import_agent" and place.inside != "path"
    if json_body and place.method in ("POST", "PATCH", "PUT"):
        # In ASCII: what is no text can be written as an escape.
        headers += [(name, value.encode()) for name, value in _JSON.items()]
        return http.request(place.method, address, content=json.dumps(request), headers=headers)
    pairs = [
        (name, item) for name, value in request.items() for item in (value if isinstance(value, list) else [value])
    ]
    query = "&".join(f"{name}={_quoted(item)}" for name, item in pairs)
    address = f"{address}?{query}" if query else address
    if place.operation == "import_agent":
        return http.request(place.method, address, content=_export(), headers=[*headers, *_LINES.items()])
    return http.request(place.method, address, headers=headers)


def _export() -> str:
    """The lines that the document shows."""
    body = openapi()["paths"]["/v1/agents/import"]["post"]["requestBody"]["content"]["application/x-ndjson"]
    lines: str = next(iter(body["examples"].values()))["value"]
    return lines


def as_header(text: str) -> bytes:
    """A text as the value of a header. What HTTP itself does not allow there is left out: it would not get here."""
    raw = re.sub(rb"[\x00-\x08\x0a-\x1f\x7f]", b"", text.encode("utf-8", "surrogatepass"))
    return raw.strip(b" \t")[:4000]


def _path(world: World, place: Place, text: str) -> str:
    if place.inside == "path":
        return re.sub(r"{\w+}", lambda _: _quoted(text), place.path)
    if place.method == "DELETE" and place.inside == "header":
        return _path_to_what_may_go(world, place)
    path = place.path.replace("{agent_id}", world.agent_id).replace("{job_id}", world.job_id)
    # One that is changed is nobody else's.
    if "/restore" in path:
        path = path.replace("{fact_id}", world.deleted_fact())
    elif "{fact_id}" in path:
        path = path.replace("{fact_id}", world.new_fact())
    return path.replace("{memory_id}", world.memory_ids[0] if place.method == "GET" else world.new_memory())


def _path_to_what_may_go(world: World, place: Place) -> str:
    if place.operation == "delete_edge":
        world.connect(*world.memory_ids[:2], "causal")
    path = place.path
    if "{agent_id}" in path:
        path = path.replace("{agent_id}", world.new_agent())
    if "{memory_id}" in path:
        path = path.replace("{memory_id}", world.new_memory())
    if "{fact_id}" in path:
        path = path.replace("{fact_id}", world.new_fact())
    if "{merge_id}" in path:
        path = path.replace("{merge_id}", world.new_merge())
    return path


def _quoted(value: object) -> str:
    return quote(str(value).encode("utf-8", "surrogatepass"), safe="")
