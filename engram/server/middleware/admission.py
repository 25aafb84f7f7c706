"""How many requests are handled at once."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from engram.problems import UnavailableProblem
from engram.server.errors import problem_response

ALWAYS_ADMITTED = frozenset({"/health/live", "/metrics"})
"""What tells an operator how a busy server fares, and costs next to nothing."""


class Admission:
    """Handles ``most`` requests at once, and refuses more with a 503 as soon as they come.

    Requests beyond what the database can serve would wait for a connection, each with its body in memory, until all of
    them are too late. A refusal costs little, and says when to come back.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._handled = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS_ADMITTED:
            await self._app(scope, receive, send)
            return
        if self._handled >= self._most:
            problem = UnavailableProblem(
                f"The server is handling {self._most} requests already, and takes no more.", retry_after=1
            )
            await problem_response(problem)(scope, receive, send)
            return
        self._handled += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._handled -= 1
