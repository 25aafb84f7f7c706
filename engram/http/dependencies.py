"""What endpoints ask FastAPI for."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import Request

from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE, Scope


async def services_of(request: Request) -> Services:
    """The services of the app that serves the request: whoever makes the app puts them into its state."""
    return cast(Services, request.app.state.services)


async def scope_of(request: Request) -> Scope:
    """Whose data the request may see. There are no API keys yet, and so one tenant."""
    return DEFAULT_SCOPE


ServicesDep = Annotated[Services, Depends(services_of)]
ScopeDep = Annotated[Scope, Depends(scope_of)]
