"""Running a server until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AbstractContextManager, nullcontext

import structlog
import uvicorn
from fastapi import FastAPI

from engram.db.dsn import parse_dsn
from engram.logs import configure_logging
from engram.server.app import create_app, lifespan
from engram.server.garbage import settled_heap
from engram.server.protocol import BoundedHttp
from engram.server.signals import on_signals
from engram.server.sockets import listen, refuse_open_door, url_of
from engram.services import Services
from engram.settings import Settings

DRAIN_SECONDS = 10
"""How long requests that are being answered may go on after the server was told to stop."""

# Longer than clients keep idle connections: one that the server closes may take a request with it.
_KEEP_ALIVE_SECONDS = 65

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
        app = create_app(settings)
        server = _Server(_config(app), app, sockets)
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(server.run_services())
    finally:
        for listener in sockets:
            listener.close()


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedHttp,
        lifespan="off",  # entered by us: uvicorn would log a failure, and hide it
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: FastAPI, sockets: list[socket.socket]) -> None:
        super().__init__(config)
        self._app = app
        self._listeners = sockets

    async def run_services(self) -> None:
        """Serve with services open. A signal before the start is through ends it there."""
        main = asyncio.current_task()
        assert main is not None
        told = False

        def stop() -> None:
            nonlocal told
            if self.started:
                self.force_exit = told
                self.should_exit = True
            elif not told:
                main.cancel()
            told = True

        with on_signals(stop):
            try:
                async with lifespan(self._app), settled_heap():
                    if not self._app.state.services.authenticator.closed:
                        refuse_open_door(self._listeners, self._app.state.settings)
                    await self.serve(self._listeners)
            except asyncio.CancelledError:
                if not told:
                    raise
        log.info("stopped")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        state = self._app.state
        _announce(state.services, self._listeners[0])

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        # Ours are heard from before services open until they are closed, which uvicorn knows nothing of.
        return nullcontext()


def _announce(services: Services, listener: socket.socket) -> None:
    settings, embedder = services.settings, services.embedder.model
    log.info(
        f"Engram serves at {url_of(listener)}",
        url=url_of(listener),
        database=database_of(settings),
        embedder=f"{embedder.provider} ({embedder.name}, {embedder.dimension} dimensions)",
        access=_access(services),
        jobs="done here" if settings.worker else "left to engram worker",
    )


def database_of(settings: Settings) -> str:
    """Which database is in use, without its password."""
    url = settings.database_url
    return str(parse_dsn(url.get_secret_value())) if url else f"embedded, in {settings.data_dir}"


def _access(services: Services) -> str:
    if services.authenticator.closed:
        return "with API keys"
    if services.settings.insecure_bind:
        return "no API keys: whoever reaches this address may do everything"
    return "no API keys: only this machine can connect"
