"""Taking connections, and giving them to workers in turn.

Workers that took them from one socket themselves would not share them evenly: of many clients that connect at the same
moment the first to wake has most, for as long as they keep their connections.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import structlog

from engram.server.workers.process import WorkerProcess
from engram.telemetry.errors import described

AT_ONCE = 64
"""Connections taken before the supervisor looks at anything else."""

PAUSE_SECONDS = 1.0
"""How long none are taken after that failed, for want of file descriptors, say."""

FULL_SECONDS = 0.005
"""After how long a connection is offered again that no worker had room for: each holds some hundreds, and takes them in
as fast as it can."""

log = structlog.get_logger(__name__)


class Reception:
    """While there is no worker, or none has room for more, connections wait where the system keeps them."""

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = listeners
        self._workers: list[WorkerProcess] = []
        self._open = False
        self._closed = False
        self._rested: asyncio.TimerHandle | None = None
        self._held: socket.socket | None = None
        """One that was taken, and that nobody had room for."""

    def add(self, worker: WorkerProcess) -> None:
        if worker not in self._workers:
            self._workers.append(worker)
        self._resume()

    def remove(self, worker: WorkerProcess) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
        if not self._workers:
            self._pause()

    def close(self) -> None:
        """Refuse who comes now: nobody waits in a queue from which nothing is taken."""
        self._closed = True
        self._pause()
        if self._held is not None:
            self._held.close()
        for listener in self._listeners:
            listener.close()

    def _resume(self) -> None:
        if self._closed or self._open or not self._workers:
            return
        if self._held is not None:
            if not self._give(self._held):
                self._rest(FULL_SECONDS)
                return
            self._held.close()
            self._held = None
        self._open = True
        for listener in self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._take, listener)

    def _pause(self) -> None:
        if self._open:
            self._open = False
            for listener in self._listeners:
                asyncio.get_running_loop().remove_reader(listener)

    def _take(self, listener: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("connections.not_taken", error=described(error))
                self._rest(PAUSE_SECONDS)
                return
            if not self._give(connection):
                self._held = connection
                self._rest(FULL_SECONDS)
                return
            connection.close()

    def _give(self, connection: socket.socket) -> bool:
        """To the worker whose turn it is; to the next where that one has too many waiting."""
        for _ in range(len(self._workers)):
            worker = self._workers.pop(0)
            self._workers.append(worker)
            if worker.hand(connection):
                return True
        return False

    def _rest(self, seconds: float) -> None:
        self._pause()
        if self._rested is not None:
            self._rested.cancel()
        self._rested = asyncio.get_running_loop().call_later(seconds, self._resume)
