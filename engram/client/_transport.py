"""Sending a request until it is answered: headers, retries, and what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx

from engram.client._answers import read_answer
from engram.client._arguments import to_json, to_query
from engram.client._bodies import Source
from engram.client._connection import Call, Connection
from engram.client._errors import APIConnectionError, APITimeoutError, EngramError, unsendable
from engram.client._options import Options
from engram.client._request import M, Request
from engram.client._retries import RetryPolicy
from engram.transfer.schemas import MEDIA_TYPE

_log = logging.getLogger("engram")


class Transport:
    """Sends requests over a connection. Knows nothing of whether the connection blocks."""

    def __init__(self, connection: Connection, options: Options) -> None:
        self._connection = connection
        self._options = options
        self._policy = RetryPolicy(options.max_retries)

    async def send(self, request: Request[M]) -> M:
        """Send, and try again where that may help.

        Raises EngramError, or the class below it that says more.
        """
        return read_answer(request, await self._answered(request, self._connection.call))

    async def begin(self, request: Request[Any]) -> httpx.Response:
        """Send, and give the answer as soon as it begins. It is the caller's to close."""

        async def begun(call: Call) -> httpx.Response:
            response = await self._connection.begin(call)
            if not response.is_success:
                await self._connection.read(response)
            return response

        return await self._answered(request, begun)

    async def _answered(
        self, request: Request[Any], send: Callable[[Call], Awaitable[httpx.Response]]
    ) -> httpx.Response:
        call = self._prepared(request)
        attempt = 0
        while True:
            try:
                return await self._attempt(request, call, send)
            except EngramError as error:
                delay = self._policy.delay(attempt, error)
                if delay is None or call.streams:
                    raise
                _log.info("%s %s: trying again in %.2f s: %s", request.method, request.path, delay, error)
            await self._connection.pause(delay)
            attempt += 1

    async def close(self) -> None:
        await self._connection.close()

    def _prepared(self, request: Request[Any]) -> Call:
        """Prepared once for all attempts, so that they carry one idempotency key."""
        headers = self._options.headers()
        content: bytes | Source | None = request.lines
        if content is not None:
            headers["Content-Type"] = MEDIA_TYPE
        elif request.writes:
            headers["Idempotency-Key"] = str(uuid4())
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = to_json(request.body)
        query = to_query(request.params)
        url = self._options.base_url + request.path + (f"?{query}" if query else "")
        return Call(request.method, url, headers, content, self._options.timeout)

    async def _attempt(
        self, request: Request[Any], call: Call, send: Callable[[Call], Awaitable[httpx.Response]]
    ) -> httpx.Response:
        """Raises what ``send`` meets, and the refusal that it is answered with."""
        try:
            response = await send(call)
        except httpx.TimeoutException as error:
            waited = type(error).__name__.removesuffix("Timeout").lower()
            raise APITimeoutError(f"{self._where(request)}: timed out ({waited})") from error
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.DecodingError) as error:
            # Ours to mend, or the same again next time: no use in trying.
            raise EngramError(f"{self._where(request)}: {error}") from error
        except httpx.InvalidURL as error:
            raise unsendable("", f"the arguments do not fit into a URL: {error}") from error
        except httpx.RequestError as error:
            raise APIConnectionError(
                f"{self._where(request)}: {str(error) or type(error).__name__}. Is the server running there?"
            ) from error
        if not response.is_success:
            read_answer(request, response)
        return response

    def _where(self, request: Request[Any]) -> str:
        return f"{request.method} {self._options.origin}{request.path}"
