"""The page that Prometheus reads. It is for the operator, and no part of the API."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.responses import Response

from engram.http.dependencies import ServicesDep
from engram.http.routing import StrictRoute
from engram.server.errors import problem_response
from engram.server.metrics.access import CHALLENGE, refusal
from engram.server.metrics.facts import DatabaseReader
from engram.server.metrics.families import Scrape
from engram.telemetry.watching import Telemetry

router = APIRouter(route_class=StrictRoute)


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request, services: ServicesDep) -> Response:
    """All measurements, also where the database is away: then without what only it knows."""
    problem = refusal(services.settings, request.headers.get("authorization"))
    if problem is not None:
        return problem_response(problem, CHALLENGE)
    reader: DatabaseReader = request.app.state.database_reader
    telemetry: Telemetry = request.app.state.telemetry
    facts = await reader.read(services)
    scrape = Scrape(telemetry.instruments.registry, services.database.pool_status(), facts, services.projector.names)
    # A few milliseconds, which requests need not wait for.
    return Response(await asyncio.to_thread(scrape.text), media_type=CONTENT_TYPE_PLAIN_0_0_4)
