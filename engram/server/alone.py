"""A server that is one process."""

from __future__ import annotations

import asyncio
import socket

import structlog

from engram.server.announcing import announcement
from engram.server.app import create_app
from engram.server.serving import Serving
from engram.server.signals import on_signals
from engram.server.sockets import url_of
from engram.services import Services
from engram.settings import Settings

log = structlog.get_logger(__name__)


def serve_alone(settings: Settings, listeners: list[socket.socket]) -> None:
    """Serve on these sockets until SIGTERM, SIGINT or SIGHUP; a second one gives up what is being answered."""

    async def announce(services: Services) -> None:
        url = url_of(listeners[0])
        log.info(f"Engram serves at {url}", url=url, **announcement(services))

    serving = Serving(create_app(settings), listeners, announce)

    async def run() -> None:
        with on_signals(lambda: serving.stop(at_once=serving.told_to_stop)):
            await serving.run_services()
        log.info("stopped")

    with asyncio.Runner(loop_factory=serving.config.get_loop_factory()) as runner:
        runner.run(run())
