"""The class of all routes: who may ask is what the route names, and what they may bring too, each thing once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import unquote_to_bytes

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette._utils import get_route_path
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from engram.http.access import admit, admit_again, role_needed
from engram.http.body import read_body
from engram.http.fields import MAX_ERRORS, shortened
from engram.http.idempotency import answered_once, is_write
from engram.http.problems import BadRequestProblem
from engram.http.streaming import is_streamed
from engram.idempotency.service import KEY_HEADER
from engram.problems import FieldError, InvalidInputProblem

MAX_QUERY_BYTES = 32 * 1024
"""Of a query string: room for a cursor, and for dozens of tags."""


class StrictRoute(APIRoute):
    """A route whose endpoint takes its query parameters as a model named ``query``, its body as one named ``body``.

    FastAPI drops query parameters that it does not know, takes the last of one given twice, and reads JSON that is
    ambiguous, on the event loop. All of that is refused here, or done beside the loop.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """A fixed address, such as ``/v1/memories/batch``, is never taken for one with a parameter in its place."""
        if self.param_convertors and get_route_path(scope) in scope["app"].state.methods:
            return Match.NONE, {}
        return super().matches(scope)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        hints = get_type_hints(self.endpoint)
        body: type[BaseModel] | None = hints.get("body")
        repeatable = _parameters(hints.get("query"))
        role = role_needed(self.endpoint)
        streamed = is_streamed(self.endpoint)
        writes = is_write(self, role)

        async def handle_strictly(request: Request) -> Response:
            await admit(request, role)
            check_query(request, repeatable)
            if streamed and KEY_HEADER in request.headers:
                raise InvalidInputProblem.of(KEY_HEADER, "is not taken here: the body is read as it comes")
            given = await read_body(request, body) if body is not None else None
            await admit_again(request, role)

            async def carry_out() -> Response:
                return await handle(_ReadRequest(request, given) if given is not None else request)

            return await (answered_once(request, given, carry_out) if writes else carry_out())

        return handle_strictly


class _ReadRequest(Request):
    """A request whose body was read. FastAPI finds the model in place of the JSON, and leaves it as it is."""

    def __init__(self, request: Request, body: BaseModel) -> None:
        super().__init__(request.scope, request.receive)
        self._model = body

    async def body(self) -> bytes:
        return b"{}"

    async def json(self) -> BaseModel:
        return self._model


def _parameters(query: type[BaseModel] | None) -> dict[str, bool]:
    """The names of query parameters, and whether each may be repeated."""
    fields = query.model_fields if query is not None else {}
    return {name: _is_list(field.annotation) for name, field in fields.items()}


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(_is_list(part) for part in get_args(annotation))


def check_query(request: Request, repeatable: dict[str, bool]) -> None:
    raw: bytes = request.scope["query_string"]
    if not raw:
        return
    if len(raw) > MAX_QUERY_BYTES:
        raise InvalidInputProblem.of("query string", f"must not have more than {MAX_QUERY_BYTES} bytes")
    try:
        unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequestProblem("The query string is not percent-encoded UTF-8.") from None
    counts = Counter(name for name, _ in request.query_params.multi_items())
    errors = [
        FieldError(shortened(name, 200), "must be given once" if name in repeatable else "is not known here")
        for name, count in counts.items()
        if name not in repeatable or (count > 1 and not repeatable[name])
    ]
    if errors:
        raise InvalidInputProblem(f"{errors[0].field}: {errors[0].message}", errors=errors[:MAX_ERRORS])
