"""One agent's view of the client."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import httpx
import pytest

from engram import AsyncEngram, Engram, InternalServerError, UnprocessableEntityError

from .answers import AGENT, AGENT_ID, CREATED, EDGE, MEMORY, MEMORY_ID, RECALLED, Server


def routed(request: httpx.Request) -> httpx.Response:
    answers: dict[str, Any] = {
        "/v1/agents": AGENT,
        f"/v1/agents/{AGENT_ID}": AGENT,
        "/v1/memories": CREATED if request.method == "POST" else {"data": [MEMORY], "next_cursor": None},
        f"/v1/memories/{MEMORY_ID}": CREATED,
        "/v1/memories/recall": RECALLED,
        "/v1/memories/batch": {"results": [], "created": 0, "deduplicated": 0, "linked": True},
        "/v1/graph/edges": {"data": [EDGE], "next_cursor": None},
    }
    return httpx.Response(200, json=answers[request.url.path])


def asked(server: Server) -> list[str]:
    return [f"{request.method} {request.url.path}" for request in server.requests]


@pytest.mark.parametrize("agent", [AGENT_ID, AGENT_ID.upper(), UUID(AGENT_ID)])
def test_an_id_is_used_as_it_is(drive, agent: Any) -> None:
    server = Server(routed)
    drive(server, lambda c: c.agent(agent).memories.create("a", entities=["Alice"]))
    assert asked(server) == ["POST /v1/memories"]
    assert server.body == {"agent_id": str(agent), "content": "a", "entities": ["Alice"]}


def test_a_name_is_looked_up_on_first_use_and_kept() -> None:
    server = Server(routed)
    scope = Engram(transport=httpx.MockTransport(server)).agent("support-bot")
    assert server.requests == []
    scope.memories.create("a")
    scope.memories.recall("question", top_k=3)
    assert asked(server) == ["POST /v1/agents", "POST /v1/memories", "POST /v1/memories/recall"]
    bodies = [json.loads(request.content) for request in server.requests]
    assert bodies == [
        {"name": "support-bot"},
        {"agent_id": AGENT_ID, "content": "a"},
        {"agent_id": AGENT_ID, "query": "question", "top_k": 3},
    ]


async def test_an_async_scope_looks_a_name_up_on_first_use_and_keeps_it() -> None:
    server = Server(routed)
    scope = AsyncEngram(transport=httpx.MockTransport(server)).agent("support-bot")
    assert [memory.id async for memory in scope.memories.list(session_id="s")] == [MEMORY_ID]
    assert (await scope.memories.list()).data[0].id == MEMORY_ID
    assert asked(server) == ["POST /v1/agents", "GET /v1/memories", "GET /v1/memories"]
    assert server.requests[1].url.params["agent_id"] == AGENT_ID


def test_a_lookup_that_failed_is_done_again() -> None:
    server = Server(httpx.Response(503), routed)
    scope = Engram(transport=httpx.MockTransport(server), max_retries=0).agent("support-bot")
    with pytest.raises(InternalServerError):
        scope.memories.recall("question")
    assert scope.memories.recall("question").query == "work?"


def test_a_scope_knows_its_agent_and_the_rest_of_the_client(drive) -> None:
    server = Server(routed)
    assert drive(server, lambda c: c.agent("support-bot").get()).id == AGENT_ID
    assert drive(server, lambda c: c.agent(AGENT_ID).memories.get(MEMORY_ID)).id == MEMORY_ID
    drive(server, lambda c: c.agent(AGENT_ID).memories.create_many(["a", "b"]))
    assert json.loads(server.requests[-1].content)["agent_id"] == AGENT_ID


def test_a_scope_has_the_graph() -> None:
    scope = Engram(transport=httpx.MockTransport(Server(routed))).agent(AGENT_ID)
    assert [edge.weight for edge in scope.graph.get_edges(MEMORY_ID)] == [0.5]


def test_a_bad_name_is_the_servers_to_refuse(drive) -> None:
    refusal = httpx.Response(422, json={"detail": "name: must not be blank"})
    with pytest.raises(UnprocessableEntityError, match="name"):
        drive(Server(refusal), lambda c: c.agent(" ").memories.recall("question"))


@pytest.mark.parametrize("agent", [None, 3, AGENT])
def test_an_agent_that_is_neither_id_nor_name_is_a_type_error(agent: Any) -> None:
    with pytest.raises(TypeError, match="id or name"):
        Engram().agent(agent)
