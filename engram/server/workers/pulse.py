"""Whether a worker answers at all."""

from __future__ import annotations

import asyncio

import structlog

from engram.problems import Problem
from engram.server.workers.channel import ChannelClosedError
from engram.server.workers.process import WorkerProcess
from engram.server.workers.reception import Reception

EVERY_SECONDS = 1.0

PATIENCE_SECONDS = 2.0
"""One that does not answer for so long gets no connections until it does: who came would wait with it."""

HUNG_SECONDS = 60.0
"""One that does not answer for so long is killed, and another takes its place. Nothing that a worker does for a request
keeps it from answering for seconds."""

log = structlog.get_logger(__name__)


async def keep_in_turn(worker: WorkerProcess, reception: Reception) -> None:
    """Have a worker get connections while it answers, until it ends or this is cancelled."""
    reception.add(worker)
    try:
        while True:
            if not await _answers(worker, PATIENCE_SECONDS):
                reception.remove(worker)
                log.warning("worker.hangs", pid=worker.pid)
                if not await _answers(worker, HUNG_SECONDS):
                    log.error("worker.killed", pid=worker.pid, why=f"it hung for {HUNG_SECONDS:g} seconds")
                    worker.kill()
                    return
                log.info("worker.answers_again", pid=worker.pid)
                reception.add(worker)
            await asyncio.sleep(EVERY_SECONDS)
    except ChannelClosedError:
        pass
    finally:
        reception.remove(worker)


async def _answers(worker: WorkerProcess, patience: float) -> bool:
    try:
        async with asyncio.timeout(patience):
            await worker.ask("pulse")
    except TimeoutError:
        return False
    except Problem:
        pass
    return True
