"""Query parameters and paths that a route does not know, or cannot use."""

from __future__ import annotations

import base64
from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram, UnprocessableEntityError
from engram.agents.schemas import Agent

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
MEMORIES = f"/v1/memories?agent_id={ID}"
EDGES = f"/v1/graph/edges?memory_id={ID}"


def cursor(json: str) -> str:
    return base64.urlsafe_b64encode(json.encode()).decode().rstrip("=")


LISTS = ("/v1/agents?", f"{MEMORIES}&", f"{EDGES}&")

WRONG: dict[str, list[tuple[str, str]]] = {
    "unknown": [
        ("/v1/agents?colour=red", "colour"),
        ("/v1/agents?Name=x", "Name"),
        (f"/v1/agents/{ID}?full=1", "full"),
        (f"{MEMORIES}&query=x", "query"),
        (f"{EDGES}&direction[]=in", "direction[]"),
        ("/health/live?verbose=1", "verbose"),
        ("/health/ready?verbose", "verbose"),
    ],
    "repeated": [
        ("/v1/agents?name=a&name=b", "name"),
        (f"{MEMORIES}&agent_id={ID}", "agent_id"),
        (f"{MEMORIES}&user_id=a&user_id=b", "user_id"),
        (f"{EDGES}&direction=in&direction=out", "direction"),
    ],
    "numbers": [
        *[
            (f"{path}limit={limit}", "limit")
            for path in LISTS
            for limit in ("-1", "0", "201", "1000000000", "1e3", "9" * 400, "ten", "", "NaN", "1.5")
        ],
        *[(f"{EDGES}&min_weight={weight}", "min_weight") for weight in ("-0.1", "1.1", "nan", "inf", "")],
    ],
    "labels": [
        *[
            (f"{MEMORIES}&{name}={value}", field)
            for name, field in (("user_id", "user_id"), ("session_id", "session_id"), ("tag", "tag.0"))
            for value in ("", "%20%20", "a%00b", "a%07b", "%E2%80%8B", "x" * 257)
        ],
        (f"{MEMORIES}&tag=a&tag=", "tag.1"),
        (MEMORIES + "&tag=a" * 65, "tag"),
        ("/v1/agents?name=", "name"),
        ("/v1/agents?name=a%00b", "name"),
    ],
    "choices": [
        (f"{MEMORIES}&status=gone", "status"),
        (f"{MEMORIES}&include_total=perhaps", "include_total"),
        (f"{EDGES}&direction=up", "direction"),
        (f"{EDGES}&relation_type=likes", "relation_type.0"),
        (f"{EDGES}&relation_type=causal&relation_type=", "relation_type.1"),
    ],
    "ids": [
        ("/v1/memories", "agent_id"),
        ("/v1/memories?agent_id=", "agent_id"),
        ("/v1/memories?agent_id=all", "agent_id"),
        ("/v1/graph/edges", "memory_id"),
        ("/v1/agents/1", "agent_id"),
        ("/v1/memories/not-an-id", "memory_id"),
        ("/v1/memories/%00", "memory_id"),
    ],
    "times": [
        (f"{EDGES}&as_of={moment}", "as_of")
        for moment in ("yesterday", "March%202026", "1770000000", "1770000000000", "2026-13-01", "2026-02-30", "")
    ],
    "cursors": [
        *[
            (f"{path}cursor={text}", "cursor")
            for path in LISTS
            for text in (
                "",
                "garbage",
                "%F0%9F%98%80",
                cursor("[]"),
                cursor("[1,2]"),
                cursor("{}"),
                cursor('["x","y","z","a","b"]'),
                cursor("[" * 5000),
            )
        ],
        ("/v1/agents?cursor=" + cursor('["a\\u0000b"]'), "cursor"),
        ("/v1/agents?cursor=" + cursor('["\\ud800"]'), "cursor"),
        ("/v1/agents?cursor=" + "A" * 9000, "cursor"),
    ],
}


@pytest.mark.parametrize("kind", WRONG)
async def test_a_parameter_that_cannot_be_used_is_named(http: httpx.AsyncClient, kind: str) -> None:
    for address, field in WRONG[kind]:
        response = await http.get(address)
        assert response.status_code == 422, address[:200]
        assert [error["field"] for error in response.json()["errors"]] == [field], address[:200]


async def test_a_write_takes_no_parameters(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/agents?name=x", json={"name": "y"})
    assert response.status_code == 422
    assert (await http.get("/v1/agents")).json()["data"] == []


async def test_all_wrong_parameters_are_named_at_once(http: httpx.AsyncClient) -> None:
    response = await http.get("/v1/memories?agent_id=x&user_id=&limit=0&status=gone")
    assert {error["field"] for error in response.json()["errors"]} == {"agent_id", "user_id", "limit", "status"}


async def test_a_query_that_is_not_utf8_is_refused(http: httpx.AsyncClient) -> None:
    for text in ("%FF", "%C3%28", "%ED%A0%80"):
        response = await http.get(f"/v1/agents?name={text}")
        assert (response.status_code, response.json()["type"]) == (400, "bad-request"), text


async def test_an_id_may_be_spelt_otherwise(http: httpx.AsyncClient, agent: Agent) -> None:
    for spelling in (agent.id.upper(), agent.id.replace("-", ""), f"{{{agent.id}}}"):
        response = await http.get(f"/v1/agents/{spelling}")
        assert response.json()["id"] == agent.id


async def test_an_empty_list_of_relations_is_refused_and_not_taken_for_all(engram: AsyncEngram) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        await engram.graph.get_edges(uuid4(), relation_type=[])
    assert [error.field for error in caught.value.errors] == ["relation_type.0"]


async def test_a_cursor_of_another_list_is_refused(engram: AsyncEngram, agent: Agent, http: httpx.AsyncClient) -> None:
    await engram.agents.create("another")
    page = await engram.agents.list(limit=1)
    response = await http.get("/v1/memories", params={"agent_id": agent.id, "cursor": page.next_cursor})
    assert response.status_code == 422


async def test_an_unknown_address_is_a_problem_document_too(http: httpx.AsyncClient) -> None:
    for address in ("/", "/v1", "/v1/agents/", "/v1/memory", "/v1/%00", "/.."):
        response = await http.get(address)
        assert response.status_code == 404, address
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["type"] == "not-found"


async def test_a_wrong_method_is_refused_and_the_right_ones_are_named(http: httpx.AsyncClient) -> None:
    response = await http.put("/v1/agents")
    assert (response.status_code, response.json()["type"]) == (405, "method-not-allowed")
    assert response.headers["allow"] == "GET, POST"
