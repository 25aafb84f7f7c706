"""A worker, as the supervisor has it: a process, and a channel to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from typing import Any

import structlog

from engram.server.workers.assignment import Assignment
from engram.server.workers.channel import Answer, Channel, ChannelClosedError, packed
from engram.settings import Settings

log = structlog.get_logger(__name__)


class WorkerProcess:
    def __init__(self, process: asyncio.subprocess.Process, channel: Channel, door: socket.socket) -> None:
        """``door`` is what its connections go through."""
        self._process = process
        self._channel = channel
        self._door = door
        door.setblocking(False)
        self._reading = asyncio.create_task(channel.run())

    @classmethod
    async def start(cls, number: int, settings: Settings, answer: Answer) -> WorkerProcess:
        """Worker ``number``. What it needs to know goes through its channel: settings hold passwords, which are for no
        command line."""
        with ExitStack() as theirs, ExitStack() as ours:
            (channel, its_channel), (door, its_door) = socket.socketpair(), socket.socketpair()
            for end in (its_channel, its_door):
                theirs.enter_context(end)
            for end in (channel, door):
                ours.enter_context(end)
            passed = (its_channel.fileno(), its_door.fileno())
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # no package of the folder where the server was started
                "-m",
                "engram.server.workers",
                *map(str, passed),
                stdin=asyncio.subprocess.DEVNULL,
                # What a terminal sends to all at once is for the supervisor alone, which says when they end.
                process_group=0,
                pass_fds=passed,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
            channel.sendall(packed(Assignment(number, settings)))
            worker = cls(process, await Channel.over(channel, answer), door)
            ours.pop_all()
            return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> int:
        """The exit status, once there is one; the negative number of a signal that ended it."""
        status = await self._process.wait()
        # Not waited for: what the process started may live, and have its end of the channel.
        self._channel.close()
        self._door.close()
        return status

    async def ask(self, asked: str, given: Any = None) -> Any:
        """Raises ChannelClosedError where the process ends before it has answered."""
        return await self._channel.ask(asked, given)

    def hand(self, connection: socket.socket) -> bool:
        """Give it a connection, which the caller closes. False where it takes none now."""
        try:
            socket.send_fds(self._door, [b"\0"], [connection.fileno()])
        except OSError:
            return False
        return True

    async def stop(self, *, at_once: bool, patience: float) -> None:
        """Tell it to end, and kill it where it has not after so many seconds. It may have ended already."""
        try:
            async with asyncio.timeout(patience):
                with suppress(ChannelClosedError):
                    await self._channel.ask("stop", at_once)
                await self._process.wait()
        except TimeoutError:
            log.error("worker.killed", pid=self.pid, why=f"it did not end within {patience:g} seconds")
            self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()


def ending(status: int) -> str:
    """How a process with this status ended."""
    if status >= 0:
        return f"with status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"
