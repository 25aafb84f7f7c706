"""An id and a line in the log for every request, and headers on every answer."""

from __future__ import annotations

import asyncio
import re
import time

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid7

from engram.server.middleware.headers import header_values
from engram.server.middleware.marks import marks_for

_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_CLIENT_CLOSED_REQUEST = 499  # nginx's number, for the log: nobody is there to receive an answer

log = structlog.get_logger(__name__)


class RequestContext:
    """Gives each request an id and a line in the log, and marks each answer for browsers.

    A sane ``X-Request-ID`` of the client's is kept. The log has the path's template, never its query.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        marks = [(b"x-request-id", request_id.encode()), *marks_for(scope["path"])]
        started = time.perf_counter()
        status = 0

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *marks]
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_marked)
                # The loop sends when its turn is over: the client shall not wait for the line in the log.
                await asyncio.sleep(0)
            except ClientDisconnect:
                status = _CLIENT_CLOSED_REQUEST
            finally:
                _log_access(scope, status, time.perf_counter() - started)


def _request_id(scope: Scope) -> str:
    given = next(iter(header_values(scope, b"x-request-id")), b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())


def route_of(scope: Scope) -> str:
    path: str = getattr(scope.get("route"), "path", "unknown")
    return path


def _log_access(scope: Scope, status: int, seconds: float) -> None:
    route = route_of(scope)
    write = log.debug if route.startswith("/health/") else log.info
    write("request", method=scope["method"], route=route, status=status, ms=round(seconds * 1000, 1))
