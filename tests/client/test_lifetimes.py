"""Clients over real connections: in threads, event loops and forked processes, until they are closed."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from engram import APIConnectionError, APITimeoutError, AsyncEngram, Engram, EngramError

from .answers import DETAIL, MEMORY_ID, Server
from .http_server import PortServer, port_server


@pytest.fixture
def server() -> Iterator[PortServer]:
    with port_server() as running:
        yield running


def test_calls_share_a_connection(server: PortServer) -> None:
    with Engram(server.base_url) as client:
        assert client.memories.get(MEMORY_ID).content == client.memories.get(MEMORY_ID).content


@pytest.fixture
def proxy_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("proxy_that_is_away")
async def test_this_machine_is_asked_past_a_proxy(server: PortServer) -> None:
    by_name = server.base_url.replace("127.0.0.1", "localhost")
    for url in (server.base_url, by_name):
        with Engram(url, max_retries=0) as client:
            assert client.memories.get(MEMORY_ID).id == MEMORY_ID
        async with AsyncEngram(url, max_retries=0) as asynchronous:
            assert (await asynchronous.memories.get(MEMORY_ID)).id == MEMORY_ID


@pytest.mark.usefixtures("proxy_that_is_away")
def test_other_machines_are_asked_through_a_proxy() -> None:
    with Engram("http://memory.invalid", max_retries=0) as client, pytest.raises(APIConnectionError) as caught:
        client.memories.get(MEMORY_ID)
    # It is the proxy that refuses: nobody looked the name up.
    assert "refused" in str(caught.value)


def test_closing_closes_the_connections(server: PortServer) -> None:
    client = Engram(server.base_url)
    client.memories.get(MEMORY_ID)
    client.close()
    client.close()
    assert server.is_left_alone()


async def test_async_closing_closes_the_connections(server: PortServer) -> None:
    client = AsyncEngram(server.base_url)
    await client.memories.get(MEMORY_ID)
    await client.aclose()
    await client.close()
    assert await asyncio.to_thread(server.is_left_alone)


def test_a_closed_client_says_so() -> None:
    client = Engram(transport=httpx.MockTransport(Server(DETAIL)))
    with client:
        client.memories.get(MEMORY_ID)
    with pytest.raises(EngramError, match="closed"):
        client.memories.get(MEMORY_ID)
    with pytest.raises(EngramError, match="closed"):
        client.agent("support-bot").memories.recall("question")


async def test_a_closed_async_client_says_so() -> None:
    client = AsyncEngram(transport=httpx.MockTransport(Server(DETAIL)))
    async with client:
        await client.memories.get(MEMORY_ID)
    with pytest.raises(EngramError, match="closed"):
        await client.memories.get(MEMORY_ID)


def test_a_client_can_be_closed_before_its_first_call() -> None:
    Engram().close()
    asyncio.run(AsyncEngram().aclose())


def test_threads_share_a_client(server: PortServer) -> None:
    with Engram(server.base_url) as client, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: client.memories.get(MEMORY_ID).id, range(100)))
    assert found == [MEMORY_ID] * 100


async def test_a_blocking_client_works_inside_an_event_loop(server: PortServer) -> None:
    with Engram(server.base_url) as client:
        assert client.memories.get(MEMORY_ID).id == MEMORY_ID
        assert client.agent(MEMORY_ID).memories.get(MEMORY_ID).id == MEMORY_ID


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # nobody can close what belonged to a closed loop
def test_an_async_client_outlives_its_event_loops(server: PortServer) -> None:
    client = AsyncEngram(server.base_url, max_retries=0)

    async def twice() -> set[str]:
        return {(await client.memories.get(MEMORY_ID)).content for _ in range(2)}

    ports = [asyncio.run(twice()) for _ in range(3)]
    assert [len(used) for used in ports] == [1, 1, 1]
    assert len(set.union(*ports)) == 3
    asyncio.run(client.aclose())
    gc.collect()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_async_client_serves_two_event_loops_at_once(server: PortServer) -> None:
    client = AsyncEngram(server.base_url, max_retries=0)
    both_there = threading.Barrier(2)

    async def main() -> set[str]:
        first = (await client.memories.get(MEMORY_ID)).content
        await asyncio.to_thread(both_there.wait, 30)
        return {first, *[(await client.memories.get(MEMORY_ID)).content for _ in range(10)]}

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: asyncio.run(main()), range(2))
    assert len(one) == len(other) == 1
    assert one != other
    asyncio.run(client.aclose())
    gc.collect()


def test_closing_reaches_the_connections_of_other_running_loops(server: PortServer) -> None:
    client = AsyncEngram(server.base_url)
    elsewhere = asyncio.new_event_loop()
    thread = threading.Thread(target=elsewhere.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(_get(client), elsewhere).result(30)
        asyncio.run(client.aclose())
        assert server.is_left_alone()
    finally:
        elsewhere.call_soon_threadsafe(elsewhere.stop)
        thread.join(30)
        elsewhere.close()


async def _get(client: AsyncEngram) -> str:
    return (await client.memories.get(MEMORY_ID)).content


FORKED = """
import os, sys
from engram import Engram

base_url, memory_id = sys.argv[1:]
client = Engram(base_url, max_retries=0)

def port():
    return client.memories.get(memory_id).content

before = port()
child = os.fork()
if child == 0:
    mine = [port(), port()]
    client.close()
    os._exit(0 if before not in mine else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, before == port())
"""

FORKED_INSIDE_A_LOOP = """
import asyncio, os, sys
from engram import AsyncEngram

base_url, memory_id = sys.argv[1:]
client = AsyncEngram(base_url, max_retries=0)

async def port():
    return (await client.memories.get(memory_id)).content

async def in_child(before):
    mine = [await port(), await port()]
    await client.aclose()
    return 0 if before not in mine else 1

async def main():
    before = await port()
    child = os.fork()
    if child == 0:
        os._exit(asyncio.run(in_child(before)))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, before == await port())

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.parametrize("program", [FORKED, FORKED_INSIDE_A_LOOP], ids=["blocking", "async"])
def test_a_forked_process_has_connections_of_its_own_and_spares_its_parents(server: PortServer, program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, server.base_url, MEMORY_ID],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["0", "True"], done.stderr


@pytest.mark.parametrize("timeout", [0.1, httpx.Timeout(30, read=0.1)])
def test_an_answer_that_does_not_come_in_time_is_a_time_out(server: PortServer, timeout) -> None:
    with Engram(server.base_url, timeout=timeout, max_retries=0) as client, pytest.raises(APITimeoutError):
        client.memories.get("slow")


async def test_an_async_answer_that_does_not_come_in_time_is_a_time_out(server: PortServer) -> None:
    async with AsyncEngram(server.base_url, timeout=0.1, max_retries=0) as client:
        with pytest.raises(APITimeoutError):
            await client.memories.get("slow")


async def test_a_call_can_be_cancelled_and_the_client_used_again(server: PortServer) -> None:
    async with AsyncEngram(server.base_url) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.memories.get("slow")
        assert (await client.memories.get(MEMORY_ID)).id == MEMORY_ID


def test_the_default_time_out_is_half_a_minute(drive) -> None:
    server = Server(DETAIL)
    drive(server, lambda c: c.memories.get(MEMORY_ID))
    assert server.asked.extensions["timeout"] == {"connect": 30, "read": 30, "write": 30, "pool": 30}


def test_nobody_there_is_a_connection_error(drive) -> None:
    with PortServer() as gone:
        base_url = gone.base_url
    with pytest.raises(APIConnectionError, match="Is the server running there"):
        Engram(base_url, max_retries=0).memories.get(MEMORY_ID)


def test_a_given_http_client_is_used_and_left_open() -> None:
    server = Server(DETAIL)
    with httpx.Client(transport=httpx.MockTransport(server), headers={"x-mine": "yes"}) as mine:
        with Engram(http_client=mine) as client:
            client.memories.get(MEMORY_ID)
        assert server.asked.headers["x-mine"] == "yes"
        assert not mine.is_closed
        with pytest.raises(EngramError, match="closed"):
            client.memories.get(MEMORY_ID)


async def test_a_given_async_http_client_is_used_and_left_open() -> None:
    server = Server(DETAIL)
    async with httpx.AsyncClient(transport=httpx.MockTransport(server), headers={"x-mine": "yes"}) as mine:
        async with AsyncEngram(http_client=mine) as client:
            await client.memories.get(MEMORY_ID)
        assert server.asked.headers["x-mine"] == "yes"
        assert not mine.is_closed


def test_a_given_http_client_that_its_owner_closed_is_named() -> None:
    mine = httpx.Client()
    mine.close()
    with pytest.raises(EngramError, match="closed"):
        Engram(http_client=mine).memories.get(MEMORY_ID)


async def test_an_application_can_be_asked_in_process() -> None:
    async def application(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"status": "ok"}'})

    async with AsyncEngram("http://engram", transport=httpx.ASGITransport(application)) as client:
        assert (await client.health()).status == "ok"
