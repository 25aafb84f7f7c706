"""The call itself: the one thing that a blocking and an asynchronous client do differently.

Both are written as coroutines. Those of ``BlockingConnection`` never wait for an event loop, so that
``finish`` can run whatever is built on them like a plain function.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar, cast

import httpx

from engram.client._bodies import Source, awaited, blocking
from engram.client._errors import EngramError
from engram.proxies import PAST_PROXIES

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A request in the form it goes over the wire."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | Source | None
    timeout: httpx.Timeout

    def arguments(self, **changes: Any) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "url": _parsed(self.url), **changes}

    @property
    def streams(self) -> bool:
        """Whether the body is read as it is sent."""
        return self.content is not None and not isinstance(self.content, bytes)


@lru_cache(maxsize=128)
def _parsed(url: str) -> httpx.URL:
    """Most calls go to a few addresses, and httpx takes its time to parse one."""
    return httpx.URL(url)


class Connection(Protocol):
    async def call(self, call: Call) -> httpx.Response: ...

    async def begin(self, call: Call) -> httpx.Response:
        """A response whose body is still to be read."""

    async def read(self, response: httpx.Response) -> None:
        """Read the body of a response that was begun."""

    async def pause(self, seconds: float) -> None: ...

    async def close(self) -> None: ...


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine all of whose calls block. Needs no event loop, and minds none that runs."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return cast(T, stop.value)
    coroutine.close()
    raise RuntimeError("a blocking call had to wait for an event loop")


class BlockingConnection:
    """Calls that block. Safe to share between threads; a forked process gets connections of its own."""

    def __init__(self, http_client: httpx.Client | None, transport: httpx.BaseTransport | None) -> None:
        self._given = http_client
        self._transport = transport
        self._by_process: dict[int, httpx.Client] = {}
        self._closed = False

    async def call(self, call: Call) -> httpx.Response:
        changes = {"content": blocking(call.content)} if call.streams and call.content is not None else {}
        return self._client().request(**call.arguments(**changes))

    async def begin(self, call: Call) -> httpx.Response:
        client = self._client()
        return client.send(client.build_request(**call.arguments()), stream=True)

    async def read(self, response: httpx.Response) -> None:
        try:
            response.read()
        finally:
            response.close()

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  # blocking is what this class is for

    async def close(self) -> None:
        self._closed = True
        client = self._by_process.pop(os.getpid(), None)
        if client is not None:
            client.close()

    def _client(self) -> httpx.Client:
        if self._given is not None:
            return _usable(self._given, self._closed)
        process = os.getpid()
        if process not in self._by_process and not self._closed:
            # A parent's connections are left alone, not closed: they are still the parent's. No lock here:
            # one that another thread held at the fork would stay locked. setdefault lets one thread win.
            self._by_process.setdefault(process, httpx.Client(transport=self._transport, mounts=PAST_PROXIES))
        return _usable(self._by_process.get(process), self._closed)


class AsyncConnection:
    """Calls that are awaited. Each event loop gets connections of its own: they cannot move between loops."""

    def __init__(self, http_client: httpx.AsyncClient | None, transport: httpx.AsyncBaseTransport | None) -> None:
        self._given = http_client
        self._transport = transport
        self._by_loop: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._process = os.getpid()
        self._closed = False

    async def call(self, call: Call) -> httpx.Response:
        changes = {"content": awaited(call.content)} if call.streams and call.content is not None else {}
        return await self._client().request(**call.arguments(**changes))

    async def begin(self, call: Call) -> httpx.Response:
        client = self._client()
        return await client.send(client.build_request(**call.arguments()), stream=True)

    async def read(self, response: httpx.Response) -> None:
        try:
            await response.aread()
        finally:
            await response.aclose()

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        self._closed = True
        self._forget_the_dead()
        clients, self._by_loop = self._by_loop, {}
        here = asyncio.get_running_loop()
        for loop, client in clients.items():
            if loop is here:
                await client.aclose()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(client.aclose(), loop)

    def _client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return _usable(self._given, self._closed)
        loop = asyncio.get_running_loop()
        self._forget_the_dead()
        if loop not in self._by_loop and not self._closed:
            self._by_loop[loop] = httpx.AsyncClient(transport=self._transport, mounts=PAST_PROXIES)
        return _usable(self._by_loop.get(loop), self._closed)

    def _forget_the_dead(self) -> None:
        """Drop the connections of loops that are closed, and all of them in a forked process."""
        if self._process != os.getpid():
            # The parent's loop still looks as if it ran, and would be woken through a pipe that both share.
            self._process, self._by_loop = os.getpid(), {}
        for loop in tuple(self._by_loop):  # a copy: another thread may add its loop meanwhile
            if loop.is_closed():
                self._by_loop.pop(loop, None)


C = TypeVar("C", httpx.Client, httpx.AsyncClient)


def _usable(client: C | None, closed: bool) -> C:
    if client is None or closed or client.is_closed:
        raise EngramError("this client is closed; make a new one")
    return client
