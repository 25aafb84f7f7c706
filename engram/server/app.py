"""The FastAPI app: routes, error handlers and middleware put together, and services opened for as long as it runs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware

import engram.agents.routes
import engram.graph.routes
import engram.memories.routes
import engram.recall.routes
from engram import __version__
from engram.http.direct import DirectRoutes
from engram.http.rate_limits import RateLimiter
from engram.memories.projections import Projector
from engram.origins import parse_origins
from engram.server import health
from engram.server.docs.routes import documentation
from engram.server.errors import HANDLERS, on_problem
from engram.server.middleware.admission import Admission
from engram.server.middleware.bodies import BodyLimits
from engram.server.middleware.context import RequestContext
from engram.server.middleware.failures import UnforeseenFailures
from engram.server.middleware.hosts import KnownHosts
from engram.server.middleware.origins import ForeignOrigins
from engram.server.openapi import describe, operation_id
from engram.services import Services, open_services
from engram.settings import Settings

RETRY_SECONDS = 30.0
"""How often is looked for links that could not be made."""

_ROUTERS = (
    engram.agents.routes.router,
    engram.recall.routes.router,
    engram.memories.routes.router,
    engram.graph.routes.router,
    health.router,
)


def create_app(settings: Settings | None = None, *, services: Services | None = None) -> FastAPI:
    """The app of a server; ``settings`` default to the environment's.

    It opens its services when it starts, and closes them when it ends. ``services`` are used as they are, by an app
    that need not be started: they belong to whoever opened them, and nothing runs beside the requests.
    """
    settings = services.settings if services is not None else settings or Settings()
    origins = parse_origins(settings.cors_origins or "")
    app = FastAPI(
        title="Engram",
        version=__version__,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestContext),
            Middleware(KnownHosts, allowed=(settings.allowed_hosts or "").split(",")),
            *([Middleware(ForeignOrigins, origins=origins)] if origins else []),
            Middleware(UnforeseenFailures),
            Middleware(Admission, most=settings.max_concurrent_requests),
            Middleware(
                BodyLimits,
                limit=settings.max_body_bytes,
                patience=settings.body_timeout,
                together=settings.max_held_body_bytes or 4 * settings.max_body_bytes,
            ),
            Middleware(DirectRoutes, routes=_routes(), on_problem=on_problem),
        ],
        exception_handlers=HANDLERS,
        generate_unique_id_function=operation_id,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    app.state.settings = settings
    app.state.services = services
    app.state.rate_limiter = RateLimiter(settings.rate_limit)
    app.state.methods = defaultdict(set)
    for router in (*_ROUTERS, documentation()):
        app.include_router(router)
    for route in _routes():
        app.state.methods[route.path] |= route.methods
    return app


def _routes() -> list[APIRoute]:
    return [route for router in _ROUTERS for route in router.routes if isinstance(route, APIRoute)]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Services, and the work that is done beside requests. Raises what ``open_services`` raises."""
    if app.state.services is not None:
        yield
        return
    async with open_services(app.state.settings) as services, _retrying(services.projector):
        app.state.services = services
        try:
            yield
        finally:
            app.state.services = None


@asynccontextmanager
async def _retrying(projector: Projector) -> AsyncIterator[None]:
    task = asyncio.create_task(projector.retry_forever(pause=RETRY_SECONDS))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
