"""The process that starts those which answer, starts others in place of those that die, and ends last."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog
from prometheus_client import Metric

from engram.db.owner import opened_by_owner, reachable
from engram.http.rate_limits import RateLimiter
from engram.problems import Problem, UnavailableProblem
from engram.server.signals import on_signals
from engram.server.sockets import refuse_open_door, url_of
from engram.server.workers.channel import ChannelClosedError
from engram.server.workers.connections import check_connections
from engram.server.workers.process import WorkerProcess, ending
from engram.server.workers.reception import Reception
from engram.settings import Settings
from engram.tenants.authentication import Authenticator

STEADY_SECONDS = 60.0
"""One that lived so long died of something new, and is followed at once."""

LONGEST_PAUSE_SECONDS = 30.0
"""Between the starts of one that does not live. Its server goes on with the others meanwhile."""

ANSWER_SECONDS = 2.0
"""How long a scrape waits for the measurements of a process."""

KILL_SECONDS = 10.0
"""How long a process may take to end at once, before it is killed."""

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
            task = asyncio.create_task(_stop(worker, at_once=at_once))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)

    async def _keep_all(self) -> None:
        keeping = [asyncio.create_task(self._keep(number)) for number in range(self._settings.workers)]
        done, _ = await asyncio.wait(keeping, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.exception() for task in done):
            self._told.set()
            self._tell_all(at_once=True)
            await asyncio.wait(keeping)
        for task in self._stopping:
            task.cancel()
        for task in keeping:
            task.result()

    async def _keep(self, number: int) -> None:
        """Have one worker, until told to stop. Raises what keeps it from serving before all have served."""
        settings = self._settings.model_copy(update={"worker": self._settings.worker and number == 0})
        pause = 0.0
        while not self._told.is_set():
            started = time.monotonic()
            worker = await WorkerProcess.start(number, settings, partial(self._answer, number))
            self._workers[number] = worker
            if self._told.is_set():
                self._tell_all(at_once=False)
            status = await worker.ended()
            del self._workers[number]
            self._serving.discard(number)
            self._reception.remove(worker)
            if self._told.is_set():
                return
            refusal = self._refusals.pop(number, None)
            if not self._announced:
                raise refusal or UnavailableProblem(f"Worker {number} ended {ending(status)} before it could serve.")
            lived = time.monotonic() - started
            pause = 0.0 if lived > STEADY_SECONDS else min(2 * pause + 0.5, LONGEST_PAUSE_SECONDS)
            log.error(
                "worker.ended",
                worker=number,
                pid=worker.pid,
                how=ending(status),
                problem=str(refusal) if refusal else None,
                again_in_seconds=pause,
            )
            await self._wait(pause)

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
                return await self._measurements(but=number)
            case "serving":
                return self._note_serving(number, given)
            case "refuse":
                self._refusals[number] = given
                return None
        raise ValueError(asked)

    async def _measurements(self, but: int) -> dict[int, list[Metric]]:
        others = {number: self._workers[number] for number in sorted(self._serving - {but})}
        answers = await asyncio.gather(*(_measured(worker) for worker in others.values()))
        return {number: answer for number, answer in zip(others, answers, strict=True) if answer is not None}

    def _note_serving(self, number: int, announcement: dict[str, str]) -> None:
        self._serving.add(number)
        self._reception.add(self._workers[number])
        if self._told.is_set():
            return
        if self._announced:
            log.info("worker.serves", worker=number, pid=self._workers[number].pid)
        elif len(self._serving) == self._settings.workers:
            self._announced = True
            jobs = "done by worker 0" if self._settings.worker else "left to engram worker"
            url = url_of(self._listeners[0])
            log.info(
                f"Engram serves at {url}", url=url, **{**announcement, "jobs": jobs}, workers=self._settings.workers
            )


async def _stop(worker: WorkerProcess, *, at_once: bool) -> None:
    await worker.stop(at_once=at_once)
    if at_once:
        await asyncio.sleep(KILL_SECONDS)
        worker.kill()


async def _measured(worker: WorkerProcess) -> list[Metric] | None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            measured: list[Metric] = await worker.ask("measurements")
    except (TimeoutError, ChannelClosedError, Problem):
        return None
    return measured
