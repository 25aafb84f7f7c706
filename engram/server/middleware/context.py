"""An id and a line in the log for every request, and headers on every answer."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid7

from engram.server.middleware.headers import header_values
from engram.server.middleware.security_headers import security_headers
from engram.telemetry.watching import Telemetry, watching

if TYPE_CHECKING:
    from engram.telemetry.tracing import RequestSpan

_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_PROBES = ("/health/", "/metrics")
_CLIENT_CLOSED_REQUEST = 499  # nginx's number, for the log: nobody is there to receive an answer

log = structlog.get_logger(__name__)


class RequestContext:
    """Gives each request an id, a line in the log and a place in the measurements, and each answer its headers.

    A sane ``X-Request-ID`` of the client's is kept. The log has the path's template, never its query.
    """

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        added = [(b"x-request-id", request_id.encode()), *security_headers(scope["path"])]
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        in_progress = self._telemetry.instruments.requests_in_progress
        in_progress.inc()
        with (
            watching(self._telemetry),
            self._span(scope, request_id) as span,
            structlog.contextvars.bound_contextvars(request_id=request_id, **(span.ids if span else {})),
        ):
            try:
                await self._app(scope, receive, send_with_headers)
                # The loop sends when its turn is over: the client shall not wait for the line in the log.
                await asyncio.sleep(0)
            except ClientDisconnect:
                status = _CLIENT_CLOSED_REQUEST
            finally:
                seconds, route = time.perf_counter() - started, route_of(scope)
                in_progress.dec()
                self._telemetry.instruments.answered(scope["method"], route, status, seconds)
                if span is not None:
                    span.answered(route, status)
                _log_access(scope["method"], route, status, seconds)

    def _span(self, scope: Scope, request_id: str) -> AbstractContextManager[RequestSpan | None]:
        tracing = self._telemetry.tracing
        # Probes and scrapes come every few seconds, and nobody asks what became of one.
        if tracing is None or scope["path"].startswith(_PROBES):
            return nullcontext()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return tracing.request(scope["method"], headers, request_id)


def _request_id(scope: Scope) -> str:
    given = next(iter(header_values(scope, b"x-request-id")), b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())


def route_of(scope: Scope) -> str:
    path: str = getattr(scope.get("route"), "path", "unknown")
    return path


def _log_access(method: str, route: str, status: int, seconds: float) -> None:
    write = log.debug if route.startswith(_PROBES) else log.info
    write("request", method=method, route=route, status=status, ms=round(seconds * 1000, 1))
