"""Serving connections that another process took."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from fastapi import FastAPI

from engram.server.serving import Serving
from engram.services import Services
from engram.telemetry.errors import described

PAUSE_SECONDS = 1.0
"""How long none are received after there was no file descriptor for one. Others get them, once so many wait here."""

READ_SECONDS = 0.1
"""How long what clients have sent already is waited for, on the last connections that were received."""

log = structlog.get_logger(__name__)


class ReceivingServer(Serving):
    """Listens nowhere: its connections come through ``door``, each as a file descriptor.

    ``leave`` is called when it is to end, and returns once no more will come.
    """

    def __init__(
        self,
        app: FastAPI,
        door: socket.socket,
        on_ready: Callable[[Services], Awaitable[None]],
        leave: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(app, [], on_ready)
        self._door = door
        self._door.setblocking(False)
        self._leave = leave
        self._opening: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._open()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._leave()
        asyncio.get_running_loop().remove_reader(self._door)
        while self._receive():
            pass
        if self._opening:
            await asyncio.wait(self._opening)
            await asyncio.sleep(READ_SECONDS)
        self._door.close()
        await super().shutdown(sockets)

    def _open(self) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(self._door, self._receive)

    def _receive(self) -> bool:
        """Take in one connection; whether there may be another."""
        loop = asyncio.get_running_loop()
        try:
            # For which there is no descriptor is lost once it was received.
            os.close(os.dup(self._door.fileno()))
            content, descriptors, _, _ = socket.recv_fds(self._door, 1, 1)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            log.warning("connections.not_received", error=described(error))
            loop.remove_reader(self._door)
            loop.call_later(PAUSE_SECONDS, self._open)
            return False
        if not content:
            loop.remove_reader(self._door)  # nobody takes connections any more
            return False
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            connection = socket.socket(fileno=descriptor)
            connection.setblocking(False)
            task = loop.create_task(loop.connect_accepted_socket(self._protocol, connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        return True

    def _protocol(self) -> asyncio.Protocol:
        # As uvicorn makes it.
        kind: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = kind(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol
