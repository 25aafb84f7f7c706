"""What endpoints ask FastAPI for, beside the scope."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import Request

from engram.services import Services


async def services_of(request: Request) -> Services:
    """The services of the app that serves the request: whoever makes the app puts them into its state."""
    return cast(Services, request.app.state.services)


ServicesDep = Annotated[Services, Depends(services_of)]
