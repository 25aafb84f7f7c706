"""What workers have measured, put together for the page of one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from prometheus_client import Metric

from engram.problems import Problem
from engram.server.workers.channel import ChannelClosedError
from engram.server.workers.process import WorkerProcess

ANSWER_SECONDS = 2.0
"""How long a scrape waits for the measurements of a process."""


async def measurements_of(workers: Mapping[int, WorkerProcess]) -> dict[int, list[Metric]]:
    """Of those of these that say so in time, by their numbers."""
    answers = await asyncio.gather(*(_measured(worker) for worker in workers.values()))
    return {number: answer for number, answer in zip(workers, answers, strict=True) if answer is not None}


async def _measured(worker: WorkerProcess) -> list[Metric] | None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            measured: list[Metric] = await worker.ask("measurements")
    except (TimeoutError, ChannelClosedError, Problem):
        return None
    return measured
