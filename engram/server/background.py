"""What a server does beside requests, for as long as it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engram.services import Services
from engram.telemetry.watching import Telemetry, watching

RETRY_SECONDS = 30.0
"""How often is looked for links that could not be made."""

CLEAR_SECONDS = 30.0
"""How often is looked for what imports left that ended with their server."""

SWEEP_SECONDS = 300.0
"""How often answers that were kept for their time are removed."""


@asynccontextmanager
async def beside_requests(services: Services, telemetry: Telemetry) -> AsyncIterator[None]:
    """Each of these goes on after it failed, and is ended before the services close."""
    with watching(telemetry):
        tasks = [
            asyncio.create_task(services.projector.retry_forever(pause=RETRY_SECONDS)),
            asyncio.create_task(services.authenticator.note_forever()),
            asyncio.create_task(services.abandoned.clear_forever(pause=CLEAR_SECONDS)),
            asyncio.create_task(services.idempotency.sweep_forever(pause=SWEEP_SECONDS)),
        ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
