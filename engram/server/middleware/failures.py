"""An answer where the app fails in a way that nobody foresaw."""

from __future__ import annotations

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engram.server.errors import unexpected
from engram.server.middleware.context import route_of

log = structlog.get_logger(__name__)


class UnforeseenFailures:
    """Logs a failure, and answers with no more than the request's id, under which the log has it.

    Within CORS, so that a page of another origin may read this answer too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except ClientDisconnect:
            raise
        except Exception:
            log.exception("request failed", method=scope["method"], route=route_of(scope))
            if begun:
                raise  # the server breaks the connection off
            request_id = structlog.contextvars.get_contextvars()["request_id"]
            await unexpected(request_id)(scope, receive, send)
