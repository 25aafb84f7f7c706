"""Whether the server lives, and whether it can do its work."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response, status
from pydantic import Field

from engram import __version__
from engram.db.migrate import revision_status
from engram.health import HealthReport
from engram.http.access import public
from engram.http.dependencies import ServicesDep
from engram.http.documents import problems
from engram.http.routing import StrictRoute
from engram.problems import Problem
from engram.services import Services
from engram.wire import ResponseModel

READY_SECONDS = 5.0
"""How long a probe waits for the database before it says that there is none."""

router = APIRouter(prefix="/health", tags=["health"], route_class=StrictRoute, responses=problems(421, 422, 431, 500))


class Liveness(ResponseModel):
    status: str = Field(description="Always `ok`: a server that cannot say so says nothing.")
    version: str


@router.get("/live", summary="Whether the server lives")
@public
async def live() -> Liveness:
    """Asks nobody: a slow database is no reason to start the server again."""
    return Liveness(status="ok", version=__version__)


@router.get(
    "/ready",
    summary="Whether the server can do its work",
    responses={
        503: {
            **problems(503)[503],  # where it is busy with other requests
            "model": HealthReport,
            "description": "It cannot; `status` and the parts say why.",
        }
    },
)
@public
async def ready(response: Response, services: ServicesDep) -> HealthReport:
    """Asks the database, and says which embedder is in use and how much work is owed."""
    database, pending = await _database(services)
    is_ready = database["status"] == "ok"
    if not is_ready:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    model = services.embedder.model
    return HealthReport(
        status="ok" if is_ready else "unavailable",
        version=__version__,
        database=database,
        embedder={"provider": model.provider, "name": model.name, "dimension": model.dimension},
        pending_links=pending,
    )


async def _database(services: Services) -> tuple[dict[str, Any], int | None]:
    """What is said of the database, and how many memories wait for links where it answers."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await services.database.ping()
            revision = await revision_status(services.database)
            # A number over all tenants is nobody's but the operator's; without keys that is who asks.
            pending = None if await services.authenticator.look() else await services.projector.pending()
    except TimeoutError:
        return _unavailable("The database does not answer."), None
    except Problem as problem:
        return _unavailable(problem.public_detail or problem.detail), None
    found = {"status": "ok", **asdict(revision)}
    if not revision.up_to_date:
        found |= _unavailable("The database is at another revision than this version of Engram works with.")
    return found, pending


def _unavailable(detail: str) -> dict[str, Any]:
    return {"status": "unavailable", "detail": detail}
