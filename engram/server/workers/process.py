"""A worker, as the supervisor has it: a process, and a channel to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from engram.server.workers.assignment import Assignment
from engram.server.workers.channel import Answer, Channel, ChannelClosedError, packed
from engram.settings import Settings


class WorkerProcess:
    def __init__(self, process: asyncio.subprocess.Process, channel: Channel) -> None:
        self._process = process
        self._channel = channel
        self._reading = asyncio.create_task(channel.run())

    @classmethod
    async def start(
        cls, number: int, settings: Settings, listeners: Sequence[socket.socket], answer: Answer
    ) -> WorkerProcess:
        """A worker that listens on these sockets too. What it needs to know goes through its channel: settings hold
        passwords, which are for no command line."""
        ours, theirs = socket.socketpair()
        try:
            passed = tuple(listener.fileno() for listener in listeners)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # no package of the folder where the server was started
                "-m",
                "engram.server.workers",
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), *passed),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
            ours.sendall(packed(Assignment(number, settings, passed)))
            channel = await Channel.over(ours, answer)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, channel)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> int:
        """The exit status, once there is one; the negative number of a signal that ended it."""
        status = await self._process.wait()
        await self._reading
        return status

    async def ask(self, asked: str, given: Any = None) -> Any:
        """Raises ChannelClosedError where the process ends before it has answered."""
        return await self._channel.ask(asked, given)

    async def stop(self, *, at_once: bool) -> None:
        """Tell it to end. It may have done so already."""
        with suppress(ChannelClosedError):
            await self._channel.ask("stop", at_once)

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
