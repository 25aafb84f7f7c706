"""The short way to an endpoint, for addresses that are fixed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, get_type_hints

from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engram.http.access import admit, admit_again, role_needed, scope_of
from engram.http.body import read_body
from engram.http.dependencies import services_of
from engram.http.idempotency import answered_once, is_write
from engram.http.routing import check_query
from engram.problems import Problem

Answer = Callable[[Request], Awaitable[Response]]
OnProblem = Callable[[Request, Problem], Awaitable[Response]]


class DirectRoutes:
    """Answers requests for routes that have no parameters in their path or query, and leaves the others to ``app``.

    Looking for a route, solving dependencies and checking the answer against its own model cost FastAPI more than all
    that we do around a recall. These routes are documented by FastAPI like the others, and answer the same.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute], on_problem: OnProblem) -> None:
        self._app = app
        self._on_problem = on_problem
        self._known: dict[tuple[str, str], tuple[APIRoute, Answer]] = {}
        for route in routes:
            if (answer := _answer(route)) is not None:
                self._known |= {(method, route.path): (route, answer) for method in route.methods or ()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = None
        # Under a root path the framework tells what the path within the app is.
        if scope["type"] == "http" and not scope.get("root_path"):
            known = self._known.get((scope["method"], scope["path"]))
        if known is None:
            await self._app(scope, receive, send)
            return
        scope["route"], answer = known
        request = Request(scope, receive)
        try:
            response = await answer(request)
        except Problem as problem:
            response = await self._on_problem(request, problem)
        await response(scope, receive, send)


def _answer(route: APIRoute) -> Answer | None:
    """What answers requests for a route; None for one that asks for more than is known here."""
    hints = get_type_hints(route.endpoint)
    model = hints["return"]
    wanted = inspect.signature(route.endpoint).parameters
    if "{" in route.path or not wanted.keys() <= _SOURCES.keys() or not _is_model(model):
        return None
    sources: Mapping[str, Callable[[Request], Awaitable[Any]]] = {
        name: source for name, source in _SOURCES.items() if name in wanted and source is not None
    }
    body: type[BaseModel] | None = hints.get("body")
    role = role_needed(route.endpoint)
    writes = is_write(route, role)
    usual_status = route.status_code or 200
    dump = TypeAdapter(model).dump_json

    async def answer(request: Request) -> Response:
        await admit(request, role)
        check_query(request, {})
        read = await read_body(request, body) if body is not None else None
        await admit_again(request, role)
        given = {name: await source(request) for name, source in sources.items()}
        if read is not None:
            given["body"] = read

        async def carry_out() -> Response:
            made = Response(status_code=usual_status)
            if "response" in wanted:
                given["response"] = made
            content = dump(await route.endpoint(**given), by_alias=True)
            return Response(content, status_code=made.status_code, media_type="application/json")

        return await (answered_once(request, given.get("body"), carry_out) if writes else carry_out())

    return answer


async def _itself(request: Request) -> Request:
    return request


_SOURCES: dict[str, Callable[[Request], Awaitable[Any]] | None] = {
    "services": services_of,
    "scope": scope_of,
    "request": _itself,
    "body": None,
    "response": None,
}


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
