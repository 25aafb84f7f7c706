"""Lists that page by themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from engram import AsyncEngram, Engram, EngramError, NotFoundError

from .answers import AGENT_ID, EDGE, MEMORY, MEMORY_ID, Server


def edges(*weights: float, then: str | None = None) -> dict[str, Any]:
    return {"data": [{**EDGE, "weight": weight} for weight in weights], "next_cursor": then}


THREE_PAGES = (edges(0.9, 0.8, then="c1"), edges(then="c2"), edges(0.7))


def blocking(server: Server) -> Engram:
    return Engram(transport=httpx.MockTransport(server), max_retries=0)


def asynchronous(server: Server) -> AsyncEngram:
    return AsyncEngram(transport=httpx.MockTransport(server), max_retries=0)


def cursors(server: Server) -> list[str | None]:
    return [request.url.params.get("cursor") for request in server.requests]


def test_iterating_fetches_all_pages_and_keeps_the_filters() -> None:
    server = Server(*THREE_PAGES)
    found = [edge.weight for edge in blocking(server).graph.get_edges(MEMORY_ID, min_weight=0.5, limit=2)]
    assert found == [0.9, 0.8, 0.7]
    assert cursors(server) == [None, "c1", "c2"]
    assert {request.url.params["min_weight"] for request in server.requests} == {"0.5"}
    assert {request.url.params["limit"] for request in server.requests} == {"2"}


async def test_async_iterating_fetches_all_pages_and_keeps_the_filters() -> None:
    server = Server(*THREE_PAGES)
    listing = asynchronous(server).graph.get_edges(MEMORY_ID, min_weight=0.5, limit=2)
    assert [edge.weight async for edge in listing] == [0.9, 0.8, 0.7]
    assert cursors(server) == [None, "c1", "c2"]
    assert {request.url.params["min_weight"] for request in server.requests} == {"0.5"}


def test_pages_are_fetched_only_as_far_as_they_are_read() -> None:
    server = Server(*THREE_PAGES)
    iterator = iter(blocking(server).graph.get_edges(MEMORY_ID))
    next(iterator)
    next(iterator)
    assert len(server.requests) == 1


async def test_an_async_list_asks_nothing_before_it_is_read() -> None:
    server = Server(*THREE_PAGES)
    listing = asynchronous(server).graph.get_edges(MEMORY_ID)
    assert server.requests == []
    async for _ in listing:
        break
    assert len(server.requests) == 1


def test_a_list_shows_its_first_page() -> None:
    page = blocking(Server(*THREE_PAGES)).graph.get_edges(MEMORY_ID)
    assert [edge["weight"] for edge in page["data"]] == [0.9, 0.8]
    assert page["next_cursor"] == page.next_cursor == "c1"
    assert page
    with pytest.raises(KeyError):
        page["results"]


async def test_awaiting_an_async_list_gives_its_first_page() -> None:
    server = Server(*THREE_PAGES)
    page = await asynchronous(server).graph.get_edges(MEMORY_ID)
    assert [edge.weight for edge in page.data] == [0.9, 0.8]
    assert page.next_cursor == "c1"
    assert len(server.requests) == 1
    assert [edge.weight async for edge in page] == [0.9, 0.8, 0.7]


def test_pages_can_be_turned_one_by_one() -> None:
    page = blocking(Server(*THREE_PAGES)).graph.get_edges(MEMORY_ID)
    second = page.next_page()
    assert second is not None
    assert second.data == []
    third = second.next_page()
    assert third is not None
    assert [edge.weight for edge in third.data] == [0.7]
    assert third.next_page() is None


async def test_async_pages_can_be_turned_one_by_one() -> None:
    page = await asynchronous(Server(*THREE_PAGES)).graph.get_edges(MEMORY_ID)
    second = await page.next_page()
    assert second is not None
    third = await second.next_page()
    assert third is not None
    assert await third.next_page() is None


def test_a_list_can_be_read_twice() -> None:
    server = Server(*THREE_PAGES, *THREE_PAGES[1:])
    page = blocking(server).graph.get_edges(MEMORY_ID)
    assert list(page) == list(page)


def test_a_list_can_go_on_from_a_cursor() -> None:
    server = Server(edges(0.7))
    list(blocking(server).graph.get_edges(MEMORY_ID, cursor="c2"))
    assert cursors(server) == ["c2"]


def test_an_empty_list_is_false() -> None:
    page = blocking(Server(edges())).graph.get_edges(MEMORY_ID)
    assert not page
    assert list(page) == []


def test_the_total_is_there_where_it_was_counted() -> None:
    counted = Server({"data": [MEMORY], "next_cursor": None, "total": 1})
    assert blocking(counted).memories.list(AGENT_ID, include_total=True).total == 1
    assert blocking(Server(edges())).graph.get_edges(MEMORY_ID).total is None


def test_a_server_that_pages_in_circles_does_not_trap_the_client() -> None:
    with pytest.raises(EngramError, match="followed by itself"):
        list(blocking(Server(edges(0.9, then="c1"))).graph.get_edges(MEMORY_ID))


def test_an_error_comes_at_the_call() -> None:
    with pytest.raises(NotFoundError):
        blocking(Server(httpx.Response(404))).graph.get_edges(MEMORY_ID)


def test_an_async_error_comes_when_the_list_is_read() -> None:
    async def read() -> None:
        async for _ in asynchronous(Server(httpx.Response(404))).graph.get_edges(MEMORY_ID):
            pass

    with pytest.raises(NotFoundError):
        asyncio.run(read())
