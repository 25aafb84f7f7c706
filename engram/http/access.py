"""Who may call a route: said in its signature, and settled before anything of the request is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints

from fastapi import Depends
from starlette.requests import Request

from engram.http.bearer import bearer_token
from engram.http.rate_limits import RateLimits
from engram.problems import AuthenticationProblem
from engram.services import Services
from engram.tenants.roles import Role
from engram.tenants.scope import Scope

STALE_SECONDS = 1.0
"""A body that took longer may have come after its key was revoked."""

_PUBLIC = "__engram_public__"
E = TypeVar("E", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Needs:
    role: Role


async def scope_of(request: Request) -> Scope:
    """Whose data the request may see, as ``admit`` found."""
    return cast(Scope, request.state.engram_scope)


ViewerScope = Annotated[Scope, Depends(scope_of), Needs(Role.viewer)]
WriterScope = Annotated[Scope, Depends(scope_of), Needs(Role.writer)]
AdminScope = Annotated[Scope, Depends(scope_of), Needs(Role.admin)]


def public(endpoint: E) -> E:
    """Marks an endpoint that anybody may call: it shows nothing of any tenant."""
    setattr(endpoint, _PUBLIC, True)
    return endpoint


def role_needed(endpoint: Callable[..., Any]) -> Role | None:
    """The role that an endpoint's ``scope`` names; None for one that is public.

    Raises TypeError for one that says neither: no route is open because nobody thought of it.
    """
    scope = get_type_hints(endpoint, include_extras=True).get("scope")
    for mark in get_args(scope)[1:]:
        if isinstance(mark, Needs):
            return mark.role
    if getattr(endpoint, _PUBLIC, False):
        return None
    raise TypeError(f"the route of {endpoint.__name__} names no role: take a scope, or mark it public")


async def admit(request: Request, role: Role | None) -> None:
    """Let a request pass to a route that needs ``role``, and keep its scope for it.

    Raises AuthenticationProblem where the key opens nothing, RateLimitedProblem where it asks too often, and
    PermissionDeniedProblem where it opens less.
    """
    if role is None:
        return
    authenticator = cast(Services, request.app.state.services).authenticator
    if "authorization" in request.headers:
        scope = await authenticator.scope_of(_key(request))
    else:
        scope = await authenticator.anonymous()
    if scope.key is not None:
        await cast(RateLimits, request.app.state.rate_limits).check(scope.key.id, scope.key.rate_limit)
    scope.require(role)
    request.state.engram_scope = scope
    request.state.engram_admitted_at = time.monotonic()


async def admit_again(request: Request, role: Role | None) -> None:
    """The same once the body is there, where that took a while: the key may have been revoked since."""
    if role is not None and time.monotonic() - request.state.engram_admitted_at > STALE_SECONDS:
        await admit(request, role)


def _key(request: Request) -> str:
    key = bearer_token(request.headers)
    if key is None:
        raise AuthenticationProblem("Send one API key, as 'Authorization: Bearer KEY'.")
    return key
