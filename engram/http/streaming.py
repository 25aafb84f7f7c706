"""Bodies that nobody holds: read as they come, and answers that are made while they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engram.http.disconnects import unless_disconnected

PATIENCE = 60.0
"""Seconds that a reader may take over a piece."""

SLOWEST = 32 * 1024
"""Bytes a second that a reader must take on average. What is read for it stays open meanwhile, in the database too."""

_STREAMS = "__engram_streams__"
E = TypeVar("E", bound=Callable[..., Any])


def streams(endpoint: E) -> E:
    """Marks an endpoint that reads its body as it comes. It is asked without an idempotency key."""
    setattr(endpoint, _STREAMS, True)
    return endpoint


def is_streamed(endpoint: Callable[..., Any]) -> bool:
    return getattr(endpoint, _STREAMS, False)


class StreamedResponse(Response):
    """Pieces as they are made: each is asked for when the one before was taken.

    The pieces end, and let go of what they hold, when the reader hangs up or takes them too slowly. Then, and where a
    piece fails, the connection is broken off: the reader sees that there was more to come.
    """

    def __init__(self, first: bytes, pieces: AsyncGenerator[bytes], *, media_type: str, file_name: str) -> None:
        """``first`` is there already: what fails before it is answered as usual."""
        super().__init__(media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{file_name}"'})
        del self.headers["content-length"]
        self._first = first
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_disconnected(Request(scope, receive), self._send(send))
        except ClientDisconnect:
            return

    async def _send(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            reader = _Reader(send)
            await reader.take(self._first)
            async for piece in pieces:
                await reader.take(piece)
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Reader:
    """Who takes the pieces, and how long that may last."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._left = PATIENCE

    async def take(self, piece: bytes) -> None:
        """Raises TimeoutError where the piece is not taken in time."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        async with asyncio.timeout(self._left):
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        self._left = min(self._left - (clock() - begun) + len(piece) / SLOWEST, PATIENCE)
