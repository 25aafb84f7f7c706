"""Which pages of other origins may read answers: none, unless some are named."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from engram.http.idempotency import REPLAYED
from engram.http.problems import ForeignOriginProblem
from engram.idempotency.service import KEY_HEADER
from engram.server.errors import problem_response

METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
SENT_HEADERS = ("Authorization", "Content-Type", KEY_HEADER, "X-Request-ID")
READ_HEADERS = ("X-Request-ID", "Retry-After", REPLAYED)


class ForeignOrigins(CORSMiddleware):
    """CORS for ``origins``, ``*`` being any. Credentials that a browser keeps, such as cookies, are never allowed."""

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        super().__init__(
            app,
            allow_origins=tuple(origins),
            allow_methods=METHODS,
            allow_headers=SENT_HEADERS,
            expose_headers=READ_HEADERS,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code < 400:
            return answer
        said = bytes(answer.body).decode()
        problem = ForeignOriginProblem(f"{said.replace('Disallowed CORS', 'Not allowed across origins:')}.")
        return problem_response(problem, {"Vary": answer.headers["vary"]})
