"""One of the processes that answer."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from prometheus_client import Metric

from engram.logs import configure_logging
from engram.problems import Problem, UnavailableProblem
from engram.server.announcing import announcement
from engram.server.app import create_app
from engram.server.metrics.families import ProcessMeasurements
from engram.server.workers.assignment import REFUSED, Assignment
from engram.server.workers.channel import Channel, ChannelClosedError, read_first
from engram.server.workers.receiving import ReceivingServer
from engram.services import Services

PATIENCE_SECONDS = 5.0
"""How long the supervisor is waited for, which itself waits two seconds for measurements."""


class Worker:
    """One process, which asks the supervisor what several processes share."""

    def __init__(self, assignment: Assignment, door: socket.socket) -> None:
        self._number = assignment.number
        self._app = create_app(assignment.settings, rate_limits=self, colleagues=self)
        self._serving = ReceivingServer(self._app, door, self._tell, self._leave)
        self._channel: Channel | None = None
        self.loop_factory = self._serving.config.get_loop_factory()

    async def run(self, end: socket.socket) -> int:
        """Serve until the supervisor says to stop, or is gone; the exit status."""
        self._channel = await Channel.over(end, self._answer)
        reading = asyncio.create_task(self._channel.run())
        # Without a supervisor nobody would start another, or know of this one.
        reading.add_done_callback(self._left_alone)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._serving.stop)
        try:
            await self._serving.run_services()
            return os.EX_OK
        except Problem as problem:
            with suppress(ChannelClosedError):
                await self._channel.ask("refuse", problem)
            return REFUSED
        finally:
            reading.remove_done_callback(self._left_alone)
            self._channel.close()
            await asyncio.wait([reading])

    async def check(self, key_id: UUID, rate: str | None) -> None:
        """The rate limit of a key, which counts what all processes are asked. Raises UnavailableProblem where the
        supervisor does not answer."""
        if (rate or self._app.state.settings.rate_limit) is None:
            return
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._ask("check", (key_id, rate))
        except TimeoutError:
            raise UnavailableProblem("What counts requests does not answer.", retry_after=1) from None
        except ChannelClosedError:
            return  # the server is coming to its end, and so is the key's traffic

    async def measurements(self) -> Mapping[int, list[Metric]]:
        """What the other processes have measured, by their numbers."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found: Mapping[int, list[Metric]] = await self._ask("measurements")
        except (TimeoutError, ChannelClosedError):
            return {}
        return found

    @property
    def number(self) -> int:
        return self._number

    def _left_alone(self, _: asyncio.Task[None]) -> None:
        self._serving.stop()

    async def _tell(self, services: Services) -> None:
        with suppress(ChannelClosedError):
            await self._ask("serving", announcement(services))

    async def _leave(self) -> None:
        with suppress(TimeoutError, ChannelClosedError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._ask("leave")

    async def _ask(self, asked: str, given: Any = None) -> Any:
        assert self._channel is not None
        return await self._channel.ask(asked, given)

    async def _answer(self, asked: str, given: Any) -> Any:
        match asked:
            case "pulse":
                return None
            case "stop":
                self._serving.stop(at_once=given)
                return None
            case "measurements":
                state = self._app.state
                own = ProcessMeasurements(state.telemetry.instruments.registry, state.services.database.pool_status())
                return await asyncio.to_thread(lambda: [*own.collect()])
        raise ValueError(asked)


def main() -> int:
    """Be one worker, until told to stop; the exit status. Arguments are two file descriptors: the channel to the
    supervisor, and what connections come through."""
    end, door = (socket.socket(fileno=int(descriptor)) for descriptor in sys.argv[1:])
    try:
        assignment: Assignment = read_first(end)
    except EOFError:
        return os.EX_OK
    configure_logging(assignment.settings, worker=assignment.number)
    worker = Worker(assignment, door)
    with asyncio.Runner(loop_factory=worker.loop_factory) as runner:
        return runner.run(worker.run(end))
