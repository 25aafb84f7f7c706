"""Answering requests in one process, from the moment its services open until they are closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

import uvicorn
from fastapi import FastAPI

from engram.server.app import lifespan
from engram.server.garbage import settled_heap
from engram.server.protocol import BoundedHttp
from engram.server.sockets import LISTEN_BACKLOG, refuse_open_door
from engram.services import Services

DRAIN_SECONDS = 10
"""How long requests that are being answered may go on after the server was told to stop."""

# Longer than clients keep idle connections: one that the server closes may take a request with it.
_KEEP_ALIVE_SECONDS = 65


class Serving(uvicorn.Server):
    """An app that is served on sockets which listen already. ``on_ready`` is told once it answers.

    Run by ``run_services`` in the loop that ``loop_factory`` makes.
    """

    def __init__(
        self, app: FastAPI, listeners: list[socket.socket], on_ready: Callable[[Services], Awaitable[None]]
    ) -> None:
        super().__init__(_config(app))
        self._app = app
        self._listeners = listeners
        self._on_ready = on_ready
        self._main: asyncio.Task[None] | None = None
        self._told = False

    def stop(self, *, at_once: bool = False) -> None:
        """Answer what was asked, and end; ``at_once`` gives up what is being answered. Before the start is through
        it ends there."""
        if self.started:
            self.force_exit = self.force_exit or at_once
            self.should_exit = True
        elif not self._told and self._main is not None:
            self._main.cancel()
        self._told = True

    @property
    def told_to_stop(self) -> bool:
        return self._told

    async def run_services(self) -> None:
        """Serve with services open, until told to stop. Raises what ``open_services`` raises, and
        ConfigurationProblem where whoever reaches the sockets could do everything."""
        self._main = asyncio.current_task()
        if self._told:
            return
        try:
            async with lifespan(self._app), settled_heap():
                if not self._app.state.services.authenticator.closed:
                    refuse_open_door(self._listeners, self._app.state.settings)
                await self.serve(self._listeners)
        except asyncio.CancelledError:
            if not self._told:
                raise

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await self._on_ready(self._app.state.services)

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        # Ours are heard from before services open until they are closed, which uvicorn knows nothing of.
        return nullcontext()


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
        backlog=LISTEN_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
