"""The page that Prometheus reads. It is for the operator, and no part of the API."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from engram.http.access import public
from engram.http.bearer import bearer_token
from engram.http.dependencies import ServicesDep
from engram.http.routing import StrictRoute
from engram.server.metrics.access import check_scrape
from engram.server.metrics.colleagues import Colleagues, Together
from engram.server.metrics.facts import DatabaseReader
from engram.server.metrics.families import DatabaseMeasurements, ProcessMeasurements, Scrape
from engram.telemetry.watching import Telemetry

router = APIRouter(route_class=StrictRoute)


@router.get("/metrics", include_in_schema=False)
@public
async def metrics(request: Request, services: ServicesDep) -> Response:
    """All measurements, also where the database is away: then without what only it knows."""
    token = services.settings.metrics_token
    # Where there is a token it decides alone, and the database is not asked whether there are keys.
    closed = token is None and await services.authenticator.closed_as_far_as_known()
    check_scrape(token, bearer_token(request.headers), closed=closed)
    reader: DatabaseReader = request.app.state.database_reader
    telemetry: Telemetry = request.app.state.telemetry
    facts = await reader.read(services)
    measured: Collector = ProcessMeasurements(telemetry.instruments.registry, services.database.pool_status())
    colleagues: Colleagues | None = request.app.state.colleagues
    if colleagues is not None:
        others = await colleagues.measurements()
        measured = Together({**others, colleagues.number: measured.collect()})
    scrape = Scrape(measured, DatabaseMeasurements(facts, services.projector.names))
    # A few milliseconds, which requests need not wait for.
    return Response(await asyncio.to_thread(scrape.text), media_type=CONTENT_TYPE_PLAIN_0_0_4)
