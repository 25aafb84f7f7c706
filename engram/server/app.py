"""The FastAPI app: routes, error handlers and middleware put together, and services opened for as long as it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware

import engram.agents.routes
import engram.audit.routes
import engram.graph.routes
import engram.memories.routes
import engram.recall.routes
from engram import __version__
from engram.http.direct import DirectRoutes
from engram.server import health
from engram.server.background import beside_requests
from engram.server.errors import HANDLERS, on_problem
from engram.server.middleware import BodyLimit, KnownHosts, RequestContext
from engram.server.openapi import describe, operation_id
from engram.services import Services, open_services
from engram.settings import Settings

_ROUTERS = (
    engram.agents.routes.router,
    engram.recall.routes.router,
    engram.memories.routes.router,
    engram.graph.routes.router,
    engram.audit.routes.router,
    health.router,
)


def create_app(settings: Settings | None = None, *, services: Services | None = None) -> FastAPI:
    """The app of a server; ``settings`` default to the environment's.

    It opens its services when it starts, and closes them when it ends. ``services`` are used as they are, by an app
    that need not be started: they belong to whoever opened them, and nothing runs beside the requests.
    """
    settings = services.settings if services is not None else settings or Settings()
    app = FastAPI(
        title="Engram",
        version=__version__,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestContext),
            Middleware(KnownHosts, allowed=(settings.allowed_hosts or "").split(",")),
            Middleware(BodyLimit, limit=settings.max_body_bytes),
            Middleware(DirectRoutes, routes=_routes(), on_problem=on_problem),
        ],
        exception_handlers=HANDLERS,
        generate_unique_id_function=operation_id,
        redirect_slashes=False,
        redoc_url=None,
    )
    app.openapi = partial(describe, app, _routes())  # type: ignore[method-assign]
    app.state.settings = settings
    app.state.services = services
    app.state.methods = defaultdict(set)
    for router in _ROUTERS:
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
    async with open_services(app.state.settings) as services, beside_requests(services):
        app.state.services = services
        try:
            yield
        finally:
            app.state.services = None
