"""Writes that a client repeats under one ``Idempotency-Key`` are carried out once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response

from engram.http.access import scope_of
from engram.http.body import LARGE
from engram.http.streaming import is_streamed
from engram.idempotency.service import KEY_HEADER, Answer, Subject, digest_of
from engram.problems import InvalidInputProblem
from engram.services import Services
from engram.tenants.roles import Role

REPLAYED = "Idempotent-Replayed"
MAX_KEY_CHARS = 255

_RECEIPT_BYTES = 1024
"""More than the receipt of an erased memory takes."""

_KEY = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY_CHARS}}}")


def is_write(route: APIRoute, role: Role | None) -> bool:
    """Whether a route changes something, and so may be asked under a key. Recall is a POST, and changes nothing.

    Of a body that is read as it comes nobody can say whether it is the same again.
    """
    changes = role is not None and role.may(Role.writer) and "GET" not in (route.methods or ())
    return changes and not is_streamed(route.endpoint)


async def answered_once(
    request: Request, body: BaseModel | None, carry_out: Callable[[], Awaitable[Response]]
) -> Response:
    """What ``carry_out`` answers to an admitted write, or what was answered to the same one before.

    Without a key the write is carried out. Raises InvalidInputProblem, naming the header, for a key that cannot be one
    or that stands for another request.
    """
    key = _key(request)
    if key is None:
        return await carry_out()
    made: Response | None = None

    async def answer() -> Answer:
        nonlocal made
        made = await carry_out()
        return Answer(made.status_code, bytes(made.body), _subject(request, body, made))

    services = cast(Services, request.app.state.services)
    given = await services.idempotency.once(await scope_of(request), key, await _fingerprint(request), answer)
    if made is not None and not given.replayed:
        return made
    # The answers that are kept are JSON, or have no body at all.
    kind = "application/json" if given.body else None
    return Response(given.body, status_code=given.status, media_type=kind, headers={REPLAYED: "true"})


def _key(request: Request) -> str | None:
    given = request.headers.getlist(KEY_HEADER)
    if not given:
        return None
    if len(given) > 1:
        raise InvalidInputProblem.of(KEY_HEADER, "must be given once")
    if not _KEY.fullmatch(given[0]):
        raise InvalidInputProblem.of(
            KEY_HEADER, f"must be 1 to {MAX_KEY_CHARS} visible ASCII characters, without spaces"
        )
    return given[0]


async def _fingerprint(request: Request) -> bytes:
    parts = (
        request.method.encode(),
        request.scope["path"].encode("utf-8", "surrogatepass"),
        request.scope["query_string"],
        await request.body(),
    )
    if len(parts[-1]) < LARGE:
        return digest_of(*parts)
    return await asyncio.to_thread(digest_of, *parts)


def _subject(request: Request, body: BaseModel | None, response: Response) -> Subject | None:
    """Whose texts an answer may hold, by the names that all our routes use for it. Failures are not kept."""
    if not response.body or response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        return None
    given: Mapping[str, Any] = {**request.query_params, **request.path_params, **dict(body or ())}
    if (agent_id := given.get("agent_id")) is not None:
        return Subject(agent_id=UUID(agent_id))
    memory_id = given.get("memory_id") or given.get("source_id")
    if edges := given.get("edges"):
        memory_id = edges[0].source_id  # all are of one agent
    if memory_id is not None:
        answered = from_json(bytes(response.body)) if len(response.body) < _RECEIPT_BYTES else {}
        if "purged_at" in answered:
            # Of what was erased only the receipt says whose it was.
            return Subject(agent_id=UUID(answered["agent_id"]))
        # An answer that holds a text is not kept where that was erased meanwhile.
        return Subject(memory_id=UUID(memory_id))
    # What names neither makes an agent, and answers with it, or is about jobs.
    answer = from_json(bytes(response.body))
    if all(isinstance(value, int) for value in answer.values()):
        return None  # counts alone hold nothing of anybody
    return Subject(agent_id=UUID(answer.get("agent_id") or answer["id"]))
