"""Running a server until it is told to stop."""

from __future__ import annotations

import asyncio
import socket

import structlog

from engram.logs import configure_logging
from engram.server.announcing import announcement
from engram.server.app import create_app
from engram.server.serving import Serving
from engram.server.signals import on_signals
from engram.server.sockets import listen, refuse_open_door, url_of
from engram.services import Services
from engram.settings import Settings

log = structlog.get_logger(__name__)


def serve(settings: Settings) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish what was begun, and stop the embedded Postgres.

    Configures logs. Raises ConfigurationProblem where the server cannot run as configured, and UnavailableProblem
    where the database does not answer, before anything is served.
    """
    configure_logging(settings)
    sockets = listen(settings)
    try:
        if settings.database_url is None and not (settings.data_dir / "postgres").exists():
            # Where nothing was ever stored there is no key, and no need to begin.
            refuse_open_door(sockets, settings)
        _serve_here(settings, sockets)
    finally:
        for listener in sockets:
            listener.close()


def _serve_here(settings: Settings, sockets: list[socket.socket]) -> None:
    async def announce(services: Services) -> None:
        url = url_of(sockets[0])
        log.info(f"Engram serves at {url}", url=url, **announcement(services))

    serving = Serving(create_app(settings), sockets, announce)

    async def run() -> None:
        with on_signals(lambda: serving.stop(at_once=serving.told_to_stop)):
            await serving.run_services()
        log.info("stopped")

    with asyncio.Runner(loop_factory=serving.config.get_loop_factory()) as runner:
        runner.run(run())
