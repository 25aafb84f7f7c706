"""Writing many memories."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from engram import NotFoundError, UnprocessableEntityError
from engram.memories.schemas import MemoryItem

from .answers import AGENT_ID, MEMORY_ID, Server


def written(request: httpx.Request) -> httpx.Response:
    items = json.loads(request.content)["items"]
    results = [{"id": MEMORY_ID, "deduplicated": item["content"] == "again"} for item in items]
    again = sum(result["deduplicated"] for result in results)
    answer = {
        "results": results,
        "created": len(items) - again,
        "deduplicated": again,
        "linked": "unlinked" not in [item["content"] for item in items],
    }
    return httpx.Response(201, json=answer)


def sizes(server: Server) -> list[int]:
    return [len(json.loads(request.content)["items"]) for request in server.requests]


def test_items_may_be_texts_dicts_and_models(drive) -> None:
    server = Server(written)
    items: list[Any] = ["a", {"content": "b", "tags": ["x"]}, MemoryItem(content="c", session_id="s")]
    drive(server, lambda c: c.memories.create_many(agent_id=AGENT_ID, items=items))
    assert server.asked.url.path == "/v1/memories/batch"
    assert server.body == {
        "agent_id": AGENT_ID,
        "items": [{"content": "a"}, {"content": "b", "tags": ["x"]}, {"content": "c", "session_id": "s"}],
    }


@pytest.mark.parametrize(
    ("count", "calls"), [(0, []), (1, [1]), (1000, [1000]), (1001, [1000, 1]), (2500, [1000, 1000, 500])]
)
def test_calls_take_a_thousand_items_each(drive, count: int, calls: list[int]) -> None:
    server = Server(written)
    told: list[tuple[int, int]] = []
    result = drive(
        server,
        lambda c: c.memories.create_many(
            AGENT_ID, (f"memory {n}" for n in range(count)), progress=lambda *done: told.append(done)
        ),
    )
    assert sizes(server) == calls
    assert len(result.results) == result.created == count
    assert told == [(sum(calls[: n + 1]), count) for n in range(len(calls))]


def test_answers_are_summed_up(drive) -> None:
    items = ["unlinked", *["again"] * 10, *["new"] * 2000]
    result = drive(Server(written), lambda c: c.memories.create_many(AGENT_ID, items))
    assert (result.created, result.deduplicated, result.linked) == (2001, 10, False)
    assert [one.deduplicated for one in result.results] == [item == "again" for item in items]


def test_each_call_has_its_own_idempotency_key(drive) -> None:
    server = Server(written)
    drive(server, lambda c: c.memories.create_many(AGENT_ID, ["a"] * 1001))
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 2


def test_an_error_counts_items_from_the_first_of_all(drive) -> None:
    refusal = httpx.Response(
        422,
        json={
            "detail": "items.3.content: must not be blank",
            "errors": [{"field": "items.3.content", "message": "must not be blank"}],
        },
        headers={"x-request-id": "r-1"},
    )
    server = Server(written, refusal)
    with pytest.raises(UnprocessableEntityError) as caught:
        drive(server, lambda c: c.memories.create_many(AGENT_ID, ["a"] * 1500))
    assert caught.value.errors[0].field == "items.1003.content"
    assert caught.value.detail == "items.1003.content: must not be blank"
    assert caught.value.request_id == "r-1"


def test_an_item_that_cannot_be_sent_is_named_by_its_place(drive) -> None:
    items = [*["a"] * 1200, {"content": "b", "confidence": float("nan")}]
    with pytest.raises(UnprocessableEntityError) as caught:
        drive(Server(written), lambda c: c.memories.create_many(AGENT_ID, items))
    assert caught.value.errors[0].field == "items.1200.confidence"


def test_after_an_error_no_further_call_is_made(drive) -> None:
    server = Server(written, httpx.Response(404, json={"detail": "no such agent"}))
    told: list[tuple[int, int]] = []
    with pytest.raises(NotFoundError):
        drive(
            server,
            lambda c: c.memories.create_many(AGENT_ID, ["a"] * 3000, progress=lambda *done: told.append(done)),
        )
    assert len(server.requests) == 2
    assert told == [(1000, 3000)]


@pytest.mark.parametrize("items", ["one text", {"content": "one dict"}, MemoryItem(content="one model")])
def test_one_memory_is_not_a_list_of_memories(drive, items: Any) -> None:
    server = Server(written)
    with pytest.raises(TypeError, match="items must be a list"):
        drive(server, lambda c: c.memories.create_many(AGENT_ID, items))
    assert server.requests == []
