"""What a body may cost."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engram.http.problems import TooLargeProblem
from engram.server.errors import problem_response
from engram.server.middleware.headers import header_values


class BodyLimit:
    """Refuses bodies of more than ``limit`` bytes, before they are read where their length is given."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = next(iter(header_values(scope, b"content-length")), b"")
        if length.isdigit() and int(length) > self._limit:
            await problem_response(self._problem())(scope, receive, send)
            return
        read = 0

        async def receive_counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._limit:
                raise self._problem()
            return message

        await self._app(scope, receive_counted, send)

    def _problem(self) -> TooLargeProblem:
        return TooLargeProblem(f"The body is larger than the {self._limit} bytes that this server takes.")
