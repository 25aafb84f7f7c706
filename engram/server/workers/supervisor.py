"""The process that starts those which answer, starts others in place of those that die, and ends last."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog

from engram.db.owner import opened_by_owner, reachable
from engram.http.rate_limits import RateLimiter
from engram.problems import Problem, UnavailableProblem
from engram.server.signals import on_signals
from engram.server.sockets import refuse_open_door, url_of
from engram.server.workers.connections import check_connections
from engram.server.workers.gathering import measurements_of
from engram.server.workers.process import WorkerProcess, ending
from engram.server.workers.pulse import keep_in_turn
from engram.server.workers.reception import Reception
from engram.settings import Settings
from engram.tenants.authentication import Authenticator

STEADY_SECONDS = 60.0
"""One that lived so long died of something new, and is followed at once."""

LONGEST_PAUSE_SECONDS = 30.0
"""Between the starts of one that does not live. Its server goes on with the others meanwhile."""

DRAIN_SECONDS = 60.0
"""How long one may take to end, before it is killed: requests and jobs have ten seconds each."""

KILL_SECONDS = 10.0
"""How long one may take to end at once."""

log = structlog.get_logger(__name__)


def supervise(settings: Settings, listeners: Sequence[socket.socket]) -> None:
    """Have ``settings.workers`` processes serve on these sockets until SIGTERM, SIGINT or SIGHUP.

    The first does jobs, where any are done here. Raises what keeps a worker from its first start, when all have ended.
    """
    asyncio.run(Supervisor(settings, listeners).run())


class Supervisor:
    def __init__(self, settings: Settings, listeners: Sequence[socket.socket]) -> None:
        self._settings = settings
        self._listeners = listeners
        self._reception = Reception(listeners)
        self._rate_limiter = RateLimiter(settings.rate_limit)
        self._workers: dict[int, WorkerProcess] = {}
        self._serving: set[int] = set()
        self._in_turn: dict[int, asyncio.Task[None]] = {}
        self._refusals: dict[int, Problem] = {}
        self._announced = False
        self._told = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """The database is there before the first worker, and after the last."""
        self._main = asyncio.current_task()
        with on_signals(self._stop):
            try:
                async with reachable(self._settings) as urls:
                    async with opened_by_owner(urls, self._settings) as owner:
                        async with owner.snapshot() as connection:
                            await check_connections(connection, self._settings)
                        if not await Authenticator(owner).look():
                            refuse_open_door(self._listeners, self._settings)
                    self._main = None
                    await self._keep_all()
            except asyncio.CancelledError:
                if not self._told.is_set():
                    raise
        log.info("stopped")

    def _stop(self) -> None:
        """At a signal. A second one does not wait for what is being answered."""
        at_once = self._told.is_set()
        self._told.set()
        if self._main is not None:
            self._main.cancel()
            self._main = None
        self._reception.close()
        self._tell_all(at_once=at_once)

    def _tell_all(self, *, at_once: bool) -> None:
        for worker in [*self._workers.values()]:
            patience = KILL_SECONDS if at_once else DRAIN_SECONDS
            task = asyncio.create_task(worker.stop(at_once=at_once, patience=patience))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)

    async def _keep_all(self) -> None:
        keeping = [asyncio.create_task(self._keep(number)) for number in range(self._settings.workers)]
        done, _ = await asyncio.wait(keeping, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.exception() for task in done):
            self._told.set()
            self._reception.close()
            self._tell_all(at_once=True)
            await asyncio.wait(keeping)
        for task in self._stopping:
            task.cancel()
        for task in keeping:
            task.result()

    async def _keep(self, number: int) -> None:
        """Have one worker, until told to stop. Raises what keeps it from serving before all have served."""
        pause = 0.0
        while not self._told.is_set():
            started = time.monotonic()
            ended = await self._have(number)
            if self._told.is_set():
                return
            refusal = self._refusals.pop(number, None)
            if not self._announced:
                raise refusal or UnavailableProblem(f"Worker {number} {ended} before it could serve.")
            lived = time.monotonic() - started
            pause = 0.0 if lived > STEADY_SECONDS else min(2 * pause + 0.5, LONGEST_PAUSE_SECONDS)
            problem = str(refusal) if refusal else None
            log.error("worker.ended", worker=number, how=ended, problem=problem, again_in_seconds=pause)
            await self._wait(pause)

    async def _have(self, number: int) -> str:
        """Start one, and wait for its end; how that was."""
        settings = self._settings.model_copy(update={"worker": self._settings.worker and number == 0})
        try:
            worker = await WorkerProcess.start(number, settings, partial(self._answer, number))
        except OSError as error:
            return f"could not be started ({error.strerror or error})"
        self._workers[number] = worker
        if self._told.is_set():
            self._tell_all(at_once=False)
        try:
            return f"(pid {worker.pid}) ended {ending(await worker.ended())}"
        finally:
            self._dismiss(number)
            self._serving.discard(number)
            del self._workers[number]

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            pass

    async def _answer(self, number: int, asked: str, given: Any) -> Any:
        match asked:
            case "check":
                return await self._rate_limiter.check(*given)
            case "measurements":
                return await measurements_of({other: self._workers[other] for other in self._serving - {number}})
            case "serving":
                return self._note_serving(number, given)
            case "leave":
                return self._dismiss(number)
            case "refuse":
                self._refusals[number] = given
                return None
        raise ValueError(asked)

    def _note_serving(self, number: int, announcement: dict[str, str]) -> None:
        self._serving.add(number)
        if self._told.is_set():
            return
        if self._announced:
            self._admit(number)
            log.info("worker.serves", worker=number, pid=self._workers[number].pid)
        elif len(self._serving) == self._settings.workers:
            self._announce(announcement)

    def _admit(self, number: int) -> None:
        """Give it connections for as long as it answers."""
        self._in_turn[number] = asyncio.create_task(keep_in_turn(self._workers[number], self._reception))

    def _dismiss(self, number: int) -> None:
        """Give it no more, from this moment on."""
        if (task := self._in_turn.pop(number, None)) is not None:
            task.cancel()
        self._reception.remove(self._workers[number])

    def _announce(self, announcement: dict[str, str]) -> None:
        """All serve: from now on they get connections, and whoever of them ends is followed by another."""
        self._announced = True
        for number in self._workers:
            self._admit(number)
        told = announcement | {"jobs": "done by worker 0" if self._settings.worker else "left to engram worker"}
        url = url_of(self._listeners[0])
        log.info(f"Engram serves at {url}", url=url, **told, workers=self._settings.workers)
