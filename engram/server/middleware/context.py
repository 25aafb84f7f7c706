"""An id, a line in the log and an answer for every request."""

from __future__ import annotations

import asyncio
import re
import time

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid7

from engram.server.errors import unexpected
from engram.server.middleware.headers import header_values

_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_MARKS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_CLIENT_CLOSED_REQUEST = 499  # nginx's number, for the log: nobody is there to receive an answer

log = structlog.get_logger(__name__)


class RequestContext:
    """Gives each request an id, a line in the log and an answer, even where the app fails.

    A sane ``X-Request-ID`` of the client's is kept. The log has the path's template, never its query.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        marks = [(b"x-request-id", request_id.encode()), *_MARKS]
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
            except Exception:
                log.exception("request failed", method=scope["method"], route=_route(scope))
                if status:
                    raise  # the answer has begun: the server breaks the connection off
                await unexpected(request_id)(scope, receive, send_marked)
            finally:
                _log_access(scope, status, time.perf_counter() - started)


def _request_id(scope: Scope) -> str:
    given = next(iter(header_values(scope, b"x-request-id")), b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())


def _route(scope: Scope) -> str:
    path: str = getattr(scope.get("route"), "path", "unknown")
    return path


def _log_access(scope: Scope, status: int, seconds: float) -> None:
    route = _route(scope)
    write = log.debug if route.startswith("/health/") else log.info
    write("request", method=scope["method"], route=route, status=status, ms=round(seconds * 1000, 1))
