"""What holds for every request, whatever route it is for. Pure ASGI, from the outside in."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid7

from engram.http.problems import MisdirectedProblem, TooLargeProblem
from engram.problems import Problem
from engram.server.errors import problem_response, unexpected
from engram.telemetry.watching import Telemetry, watching

if TYPE_CHECKING:
    from engram.telemetry.tracing import RequestSpan

_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_MARKS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_PROBES = ("/health/", "/metrics")
_ASKING = ("http", "websocket")
_CLIENT_CLOSED_REQUEST = 499  # nginx's number, for the log: nobody is there to receive an answer

log = structlog.get_logger(__name__)


class RequestContext:
    """Gives each request an id, a line in the log, a place in the measurements and an answer, even where the app fails.

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
        marks = [(b"x-request-id", request_id.encode()), *_MARKS]
        started = time.perf_counter()
        status = 0

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *marks]
            await send(message)

        in_progress = self._telemetry.instruments.requests_in_progress
        in_progress.inc()
        with (
            watching(self._telemetry),
            self._span(scope, request_id) as span,
            structlog.contextvars.bound_contextvars(request_id=request_id, **(span.ids if span else {})),
        ):
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
                seconds, route = time.perf_counter() - started, _route(scope)
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


class KnownHosts:
    """Refuses requests for hosts that are neither this machine nor among ``allowed``.

    A server without API keys trusts whoever reaches loopback. That must not be any page open in a browser whose host
    name was made to resolve to 127.0.0.1. Where there are keys, the key decides. A key that is sent to a server without
    any proves nothing: such a page can send one too.
    """

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = frozenset(name.strip().casefold() for name in allowed) - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in _ASKING and not self._knows(_host(scope)) and await _trusts_anybody(scope):
            problem = MisdirectedProblem(
                "This server has no API keys, and answers only to requests for localhost. Ask for 127.0.0.1, or name "
                "the host in ENGRAM_ALLOWED_HOSTS where the network around it can be trusted."
            )
            await problem_response(problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _knows(self, host: str) -> bool:
        return "*" in self._allowed or host.casefold() in self._allowed or is_loopback(host)


class BodyLimit:
    """Refuses bodies of more than ``limit`` bytes, before they are read where their length is given."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = next(iter(_values(scope, b"content-length")), b"")
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


async def _trusts_anybody(scope: Scope) -> bool:
    services = scope["app"].state.services
    if services is None:
        return True
    try:
        return not await services.authenticator.look()
    except Problem:
        # The database is away: what was known of it last holds.
        return not services.authenticator.closed


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name alone: no name is looked up."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _request_id(scope: Scope) -> str:
    given = next(iter(_values(scope, b"x-request-id")), b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())


def _host(scope: Scope) -> str:
    """The Host header without its port; of several, none counts."""
    given = _values(scope, b"host")
    host = given[0].decode("latin-1").strip().lower() if len(given) == 1 else ""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")


def _route(scope: Scope) -> str:
    path: str = getattr(scope.get("route"), "path", "unknown")
    return path


def _log_access(method: str, route: str, status: int, seconds: float) -> None:
    write = log.debug if route.startswith(_PROBES) else log.info
    write("request", method=method, route=route, status=status, ms=round(seconds * 1000, 1))
