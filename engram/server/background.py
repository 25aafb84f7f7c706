"""What a server does beside requests, for as long as it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, nullcontext

from engram.services import Services
from engram.telemetry.watching import Telemetry, watching

RETRY_SECONDS = 30.0
"""How often is looked for links that could not be made."""

CLEAR_SECONDS = 30.0
"""How often is looked for what imports left that ended with their server."""

SWEEP_SECONDS = 300.0
"""How often answers that were kept for their time are removed."""

CANCEL_SECONDS = 5.0
"""How long work that is cancelled may take to end before it is cancelled again."""

DRAIN_SECONDS = 10.0
"""How long jobs may take to come to a place to stop at, after the server was told to."""


@asynccontextmanager
async def beside_requests(services: Services, telemetry: Telemetry) -> AsyncIterator[None]:
    """Each of these goes on after it failed, and is ended before the services close."""
    worker = services.worker.running(DRAIN_SECONDS) if services.settings.worker else nullcontext()
    with watching(telemetry):
        tasks = [
            asyncio.create_task(services.authenticator.note_forever()),
            asyncio.create_task(services.abandoned.clear_forever(pause=CLEAR_SECONDS)),
            asyncio.create_task(services.idempotency.sweep_forever(pause=SWEEP_SECONDS)),
        ]
    try:
        async with worker:
            yield
    finally:
        await _end(tasks)


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """A cancellation that comes as a wait for a connection is over is lost in Python 3.11, and the work goes on."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
