"""A worker: takes jobs from the queue and does what is periodic, for as long as it is not told to stop.

It listens to the queue on one connection of its own, on which all that concerns the queue is asked too; jobs take
theirs from the pool. Where that connection is lost, or cannot be had, it tries again, and jobs wait. One that another
worker was doing is taken over once that one has not said for a while that it lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import asyncpg
import structlog
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.core.applications import PgQueuer
from pgqueuer.domain.models import Job, Schedule

from engram.db.database import Database
from engram.db.roles import SERVER_ROLE
from engram.jobs.execution import Execution
from engram.jobs.queue import CHANNEL, queries
from engram.jobs.schedules import Periodic
from engram.telemetry.errors import described

log = structlog.get_logger(__name__)

AT_ONCE = 4
"""Jobs that one worker does at the same time. Each takes a connection of the pool now and then."""

LOOK_SECONDS = 5.0
"""How often is looked for jobs that no notice came of."""

ASK_SECONDS = 30.0

INTERRUPT_SECONDS = 5.0
"""How long jobs that are interrupted have to hand themselves back."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Between attempts to have a connection."""


class Worker:
    def __init__(
        self, database: Database, execution: Execution, periodic: Sequence[Periodic], *, lease: timedelta
    ) -> None:
        """``lease`` is for how long a worker that says nothing is believed to live."""
        self._database = database
        self._execution = execution
        self._periodic = periodic
        self._lease = lease

    async def run(self) -> None:
        """Work until ``stop``; cancelled, it ends at once, and what it was doing waits for another."""
        pause = FIRST_PAUSE
        stopping = self._execution.stopping
        while not stopping.is_set():
            listened = asyncio.get_running_loop().time()
            try:
                await self._listen()
            except Exception as error:
                log.warning("worker.lost_queue", error=described(error), again_in=pause)
            if asyncio.get_running_loop().time() - listened > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def stop(self) -> None:
        """Take no more jobs, and end once those that run have come to a place to stop at."""
        self._execution.stopping.set()

    @asynccontextmanager
    async def running(self, patience: float) -> AsyncIterator[None]:
        """Work beside what is within; at its end, wait so many seconds for jobs that run, and then interrupt them."""
        self._execution.stopping.clear()
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            await self.ended(task, patience)

    async def ended(self, task: asyncio.Task[None], patience: float) -> None:
        self.stop()
        _, late = await asyncio.wait({task}, timeout=patience)
        while late:
            # Again, where need be: a cancellation that comes as a wait is over is lost in Python 3.11.
            self._execution.interrupt()
            _, late = await asyncio.wait({task}, timeout=INTERRUPT_SECONDS)
            if late:
                task.cancel()

    async def _listen(self) -> None:
        """Work for as long as one connection lasts."""
        connection = await self._database.connect_beside()
        try:
            # With the rights of a server, whoever logged in: the queue's tables and no tenant's.
            await connection.execute(f"SET ROLE {SERVER_ROLE}")
            await self._work_on(connection)
        finally:
            with suppress(Exception):
                await connection.close()

    async def _work_on(self, connection: asyncpg.Connection) -> None:
        driver = _Impatient(connection)
        queue = PgQueuer(driver, CHANNEL, queries=queries(driver))
        for kind in self._execution.kinds:
            queue.entrypoint(kind.value, accepts_context=False)(self._attempt)
        for one in self._periodic:
            queue.schedule(one.name, one.when, accepts_context=False)(_scheduled(one))
        connection.add_termination_listener(lambda _: queue.shutdown.set())
        forwarding = asyncio.create_task(_forward(self._execution.stopping, queue.shutdown))
        try:
            for one in self._periodic:
                if one.at_start:
                    await _do(one)
            log.debug("worker.ready")
            await queue.run(
                dequeue_timeout=timedelta(seconds=LOOK_SECONDS),
                batch_size=AT_ONCE // 2,
                max_concurrent_tasks=AT_ONCE,
                shutdown_on_listener_failure=True,
                heartbeat_timeout=self._lease,
                log_aggregation_interval=timedelta(),
            )
        finally:
            forwarding.cancel()

    async def _attempt(self, job: Job) -> None:
        await self._execution.attempt(job.payload)


class _Impatient(AsyncpgDriver):
    """Asks nothing for longer than ``ASK_SECONDS``: a database that vanished without a word never answers."""

    async def fetch(self, query: str, *args: object) -> list[dict[str, object]]:
        async with asyncio.timeout(ASK_SECONDS):
            return await super().fetch(query, *args)

    async def execute(self, query: str, *args: object) -> str:
        async with asyncio.timeout(ASK_SECONDS):
            return await super().execute(query, *args)

    async def notify(self, channel: str, payload: str) -> None:
        async with asyncio.timeout(ASK_SECONDS):
            await super().notify(channel, payload)


def _scheduled(one: Periodic) -> Callable[[Schedule], Awaitable[None]]:
    async def run(schedule: Schedule) -> None:
        await _do(one)

    return run


async def _do(one: Periodic) -> None:
    try:
        await one.work()
    except Exception as error:
        log.warning("worker.periodic_failed", work=one.name, error=described(error))


async def _forward(told: asyncio.Event, on: asyncio.Event) -> None:
    await told.wait()
    on.set()
