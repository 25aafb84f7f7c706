"""Running a worker alone until it is told to stop."""

from __future__ import annotations

import asyncio

import structlog

from engram.logs import configure_logging
from engram.server.announcing import database_of
from engram.server.background import DRAIN_SECONDS
from engram.server.signals import on_signals
from engram.services import open_services
from engram.settings import Settings

log = structlog.get_logger(__name__)


def work(settings: Settings) -> None:
    """Do jobs until SIGTERM, SIGINT or SIGHUP; those that run come to a place to stop at, and go on elsewhere.

    Configures logs. Raises ConfigurationProblem where it cannot run as configured, and UnavailableProblem where the
    database does not answer at the start.
    """
    configure_logging(settings)
    asyncio.run(_work(settings))


async def _work(settings: Settings) -> None:
    main = asyncio.current_task()
    assert main is not None
    told = asyncio.Event()
    opened = False

    def stop() -> None:
        if not opened and not told.is_set():
            main.cancel()
        told.set()

    with on_signals(stop):
        try:
            async with open_services(settings) as services:
                opened = True
                async with services.worker.running(DRAIN_SECONDS):
                    log.info("Engram does jobs", database=database_of(settings))
                    await told.wait()
        except asyncio.CancelledError:
            if not told.is_set():
                raise
    log.info("stopped")
