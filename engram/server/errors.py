"""Failures as answers: problem documents of RFC 9457."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from engram.http.documents import MEDIA_TYPE
from engram.http.fields import MAX_FIELD_CHARS, MAX_MESSAGE_CHARS, invalid_input, shortened
from engram.problems import ConfigurationProblem, Problem, UnavailableProblem

MAX_DETAIL_CHARS = 600

log = structlog.get_logger(__name__)

_DETAILS = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
}


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The document of a problem. Its texts may hold what a client sent: they are cut, and made encodable."""
    found = dict(headers or {})
    if problem.retry_after is not None and math.isfinite(problem.retry_after):
        found["Retry-After"] = str(max(1, math.ceil(problem.retry_after)))
    if problem.status == HTTPStatus.UNAUTHORIZED:
        found["WWW-Authenticate"] = 'Bearer realm="engram"'
    if problem.status == HTTPStatus.REQUEST_TIMEOUT:
        found["Connection"] = "close"  # what is left of the body may come yet, where the next request should begin
    document = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": shortened(problem.public_detail or problem.detail, MAX_DETAIL_CHARS),
        "errors": [
            {
                "field": shortened(error.field, MAX_FIELD_CHARS),
                "message": shortened(error.message, MAX_MESSAGE_CHARS),
            }
            for error in problem.errors
        ],
    }
    return Response(
        json.dumps(document, ensure_ascii=False), status_code=problem.status, media_type=MEDIA_TYPE, headers=found
    )


async def on_problem(request: Request, problem: Problem) -> Response:
    if problem.public_detail is not None:
        log.warning("problem", detail=problem.detail)
    if isinstance(problem, ConfigurationProblem):
        # Somebody changed the ground that the server stands on. That is for its operator to know.
        log.error("cannot work as configured", detail=problem.detail)
        problem = UnavailableProblem("The server cannot do this as it is configured; its log says why.")
    return problem_response(problem)


async def on_invalid_parameters(request: Request, error: RequestValidationError) -> Response:
    return problem_response(invalid_input(error.errors()))


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    """What the framework refuses: no such route, no such method."""
    phrase = HTTPStatus(error.status_code).phrase
    problem = Problem(_DETAILS.get(error.status_code, str(error.detail)))
    problem.status = error.status_code
    problem.type = phrase.lower().replace(" ", "-")
    problem.title = phrase.capitalize()
    return problem_response(problem, error.headers)


async def on_wrong_method(request: Request, error: HTTPException) -> Response:
    # The framework names the methods of one route; an address has one for each of its methods.
    route = request.scope.get("route")  # what the framework itself serves, such as the documentation, has none
    if route is not None:
        methods: set[str] = request.app.state.methods.get(route.path, set())
        error.headers = {**(error.headers or {}), "Allow": ", ".join(sorted(methods))}
    return await on_http_exception(request, error)


def unexpected(request_id: str) -> Response:
    """The answer to a failure that nobody foresaw: what it was is for the log alone."""
    return problem_response(
        Problem(f"Something went wrong in the server. Its log has more under the request id {request_id}.")
    )


HANDLERS: dict[Any, Any] = {
    Problem: on_problem,
    RequestValidationError: on_invalid_parameters,
    HTTPException: on_http_exception,
    405: on_wrong_method,
}
