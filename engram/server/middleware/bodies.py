"""What a body may cost: its size, the time it takes, and the memory of all together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engram.http.problems import SlowBodyProblem, TooLargeProblem
from engram.problems import UnavailableProblem
from engram.server.errors import problem_response
from engram.server.middleware.headers import header_values

SLOWEST = 4096
"""Bytes a second that a long body must bring on average. One byte at a time would hold a place for days."""


class BodyLimits:
    """Refuses bodies that are too large, too slow, or too many.

    ``limit``
        Bytes of one body. One that says it has more is refused before it is read.
    ``patience``
        Seconds without a byte; and seconds that a body may take beyond what it would at ``SLOWEST``.
    ``together``
        Bytes of all bodies whose requests are being handled. Only what has come counts: to say that much will come
        costs a client nothing.
    ``streamed``
        Limits of their own for addresses that read a body as it comes, and hold none of it.
    """

    def __init__(
        self, app: ASGIApp, limit: int, patience: float, together: int, streamed: Mapping[str, int] | None = None
    ) -> None:
        self._app = app
        self._limit = limit
        self._streamed = streamed or {}
        self._patience = patience
        self._together = together
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        streamed = self._streamed.get(scope["path"]) if scope.get("method") == "POST" else None
        limit = self._limit if streamed is None else streamed
        length = next(iter(header_values(scope, b"content-length")), b"")
        if length.isdigit() and int(length) > limit:
            await problem_response(_too_large(limit))(scope, receive, send)
            return
        body = _Body(receive, self._patience)
        held = 0

        async def receive_within_limits() -> Message:
            nonlocal held
            if body.complete:
                return await receive()  # waits for the client to hang up, as long as the answer takes
            message = await body.receive()
            if body.size > limit:
                raise _too_large(limit)
            if streamed is not None:
                return message
            self._held += body.size - held
            held = body.size
            if self._held > self._together:
                raise UnavailableProblem("The server holds as many bodies as it has memory for.", retry_after=1)
            return message

        try:
            await self._app(scope, receive_within_limits, send)
        finally:
            self._held -= held


def _too_large(limit: int) -> TooLargeProblem:
    return TooLargeProblem(f"The body is larger than the {limit} bytes that this server takes.")


class _Body:
    """A body as it comes in: ``size`` bytes so far."""

    def __init__(self, receive: Receive, patience: float) -> None:
        self._receive = receive
        self._patience = patience
        self._latest: float | None = None
        self._returned = 0.0
        self.size = 0
        self.complete = False

    async def receive(self) -> Message:
        """The next message. Raises SlowBodyProblem where it does not come in time."""
        now = asyncio.get_running_loop().time()
        if self._latest is None:
            self._latest = now + self._patience
        elif self.size:
            # What the app does with a piece before it asks for the next is no fault of the client's.
            self._latest += now - self._returned
        deadline = min(now + self._patience, self._latest)
        try:
            async with asyncio.timeout_at(deadline):
                message = await self._receive()
        except TimeoutError:
            raise SlowBodyProblem("The body came too slowly, and is not waited for any longer.") from None
        came = len(message.get("body", b""))
        self.size += came
        # What came fast buys no more patience than a body has at its beginning.
        now = asyncio.get_running_loop().time()
        self._latest = min(self._latest + came / SLOWEST, now + self._patience)
        self._returned = now
        self.complete = not message.get("more_body", False)
        return message
