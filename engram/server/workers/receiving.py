"""Serving connections that another process took."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI

from engram.server.serving import Serving
from engram.services import Services


class ReceivingServer(Serving):
    """Listens nowhere: its connections come through ``door``, each as a file descriptor."""

    def __init__(self, app: FastAPI, door: socket.socket, on_ready: Callable[[Services], Awaitable[None]]) -> None:
        super().__init__(app, [], on_ready)
        self._door = door
        self._door.setblocking(False)
        self._opening: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(self._door, self._receive)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().remove_reader(self._door)
        self._door.close()
        await super().shutdown(sockets)

    def _receive(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            content, descriptors, _, _ = socket.recv_fds(self._door, 1, 1)
        except (BlockingIOError, InterruptedError):
            return
        if not content:
            loop.remove_reader(self._door)  # nobody takes connections any more
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            connection = socket.socket(fileno=descriptor)
            connection.setblocking(False)
            task = loop.create_task(loop.connect_accepted_socket(self._protocol, connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def _protocol(self) -> asyncio.Protocol:
        # As uvicorn makes it.
        kind: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = kind(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol
