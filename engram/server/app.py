"""The FastAPI app: routes, error handlers and middleware put together, and services opened for as long as it runs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware

import engram.agents.routes
import engram.audit.routes
import engram.entities.exporting.routes
import engram.entities.graph.routes
import engram.entities.memories.routes
import engram.entities.taxonomy.routes
import engram.facts.merge_routes
import engram.facts.ontology.routes
import engram.facts.quantities.routes
import engram.facts.routes
import engram.facts.triples.routes
import engram.graph.exploration_routes
import engram.graph.routes
import engram.jobs.routes
import engram.memories.changes.routes
import engram.memories.routes
import engram.recall.routes
import engram.transfer.routes
from engram import __version__
from engram.http.direct import DirectRoutes
from engram.http.rate_limits import RateLimiter, RateLimits
from engram.http.routing import StrictRoute
from engram.origins import parse_origins
from engram.server import health
from engram.server.background import beside_requests
from engram.server.docs.routes import documentation
from engram.server.errors import HANDLERS, on_problem
from engram.server.metrics import routes as metrics
from engram.server.metrics.colleagues import Colleagues
from engram.server.metrics.facts import DatabaseReader
from engram.server.middleware.admission import Admission
from engram.server.middleware.bodies import BodyLimits
from engram.server.middleware.context import RequestContext
from engram.server.middleware.failures import UnforeseenFailures
from engram.server.middleware.hosts import KnownHosts
from engram.server.middleware.origins import ForeignOrigins
from engram.server.openapi import describe, operation_id
from engram.services import Services, open_services
from engram.settings import Settings
from engram.telemetry.opening import open_tracing
from engram.telemetry.watching import Telemetry

_ROUTERS = (
    engram.agents.routes.router,
    engram.transfer.routes.router,
    engram.recall.routes.router,
    # Before the memories of an id: a timeline is none.
    engram.entities.memories.routes.router,
    engram.memories.routes.router,
    engram.memories.changes.routes.router,
    engram.graph.routes.router,
    engram.graph.exploration_routes.router,
    engram.entities.graph.routes.router,
    engram.entities.taxonomy.routes.router,
    engram.entities.exporting.routes.router,
    engram.facts.merge_routes.router,
    engram.facts.ontology.routes.router,
    engram.facts.triples.routes.router,
    engram.facts.quantities.routes.router,
    engram.facts.routes.router,
    engram.audit.routes.router,
    engram.jobs.routes.router,
    health.router,
    metrics.router,
)


def create_app(
    settings: Settings | None = None,
    *,
    services: Services | None = None,
    telemetry: Telemetry | None = None,
    rate_limits: RateLimits | None = None,
    colleagues: Colleagues | None = None,
) -> FastAPI:
    """The app of a server; ``settings`` default to the environment's.

    It opens its services when it starts, and closes them when it ends. ``services`` are used as they are, by an app
    that need not be started: they belong to whoever opened them, and nothing runs beside the requests.
    ``telemetry`` and ``rate_limits`` are the app's own unless given; ``colleagues`` are other processes that answer
    for the same server.
    """
    telemetry = telemetry or Telemetry()
    settings = services.settings if services is not None else settings or Settings()
    origins = parse_origins(settings.cors_origins or "")
    app = FastAPI(
        title="Engram",
        version=__version__,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestContext, telemetry=telemetry),
            Middleware(KnownHosts, allowed=(settings.allowed_hosts or "").split(",")),
            *([Middleware(ForeignOrigins, origins=origins)] if origins else []),
            Middleware(UnforeseenFailures),
            Middleware(Admission, most=settings.max_concurrent_requests),
            Middleware(
                BodyLimits,
                limit=settings.max_body_bytes,
                patience=settings.body_timeout,
                together=settings.max_held_body_bytes or 4 * settings.max_body_bytes,
                streamed={"/v1/agents/import": settings.max_import_bytes},
            ),
            Middleware(DirectRoutes, routes=_routes(), on_problem=on_problem),
        ],
        exception_handlers=HANDLERS,
        generate_unique_id_function=operation_id,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        # FastAPI makes spans and logs for whoever has set up OpenTelemetry in the process. They hold queries, and
        # messages of errors. Ours are in engram.telemetry.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.openapi = partial(describe, app, _routes())  # type: ignore[method-assign]
    app.state.settings = settings
    app.state.services = services
    app.state.telemetry = telemetry
    app.state.database_reader = DatabaseReader()
    app.state.rate_limits = rate_limits or RateLimiter(settings.rate_limit)
    app.state.colleagues = colleagues
    app.state.methods = defaultdict(set)
    for router in (*_ROUTERS, documentation()):
        app.include_router(router)
    for route in _routes():
        app.state.methods[route.path] |= route.methods
    return app


def _routes() -> list[APIRoute]:
    """Raises TypeError for one of another class: it would ask nobody for a key."""
    routes = [route for router in _ROUTERS for route in router.routes]
    for route in routes:
        if not isinstance(route, StrictRoute):
            raise TypeError(f"the route {route!r} is no StrictRoute, and open to anybody")
    return cast(list[APIRoute], routes)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Services, traces, and the work that is done beside requests. Raises what ``open_services`` raises."""
    if app.state.services is not None:
        yield
        return
    telemetry = app.state.telemetry
    async with (
        _traced(telemetry),
        open_services(app.state.settings) as services,
        beside_requests(services, telemetry),
    ):
        app.state.services = services
        try:
            yield
        finally:
            app.state.services = None


@asynccontextmanager
async def _traced(telemetry: Telemetry) -> AsyncIterator[None]:
    """Traces where the environment asks for them, sent to the last before the app ends."""
    tracing = telemetry.tracing = telemetry.tracing or await asyncio.to_thread(open_tracing)
    try:
        yield
    finally:
        telemetry.tracing = None
        if tracing is not None:
            await asyncio.to_thread(tracing.close)
