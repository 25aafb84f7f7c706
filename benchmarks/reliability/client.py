"""A client: which requests it makes, and how it behaves when they fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from random import Random

from benchmarks.reliability.access import Access
from benchmarks.reliability.asking import Answer, asker
from benchmarks.reliability.load import Load
from benchmarks.reliability.reading import Reader
from benchmarks.reliability.writing import Writer

_THINKING_SECONDS = 0.2
"""The longest pause between two requests of one client; the mean is half of it."""

_PATIENCE_SECONDS = 0.5
"""How long a client waits after a failure that says nothing of when to come back."""

Job = Callable[[], Awaitable[Answer[object] | None]]


async def behave(access: Access, load: Load, number: int, until: float) -> None:
    """Make requests, one after the other, until that moment of the monotonic clock."""
    random = Random(f"client {number}")
    async with asker(access, load.samples, load.unexplained) as asking:
        jobs = _mix(Writer(asking, load, random), Reader(asking, load, random))
        while time.monotonic() < until:
            (job,) = random.choices(list(jobs), weights=list(jobs.values()))
            answer = await job()
            if answer is None or answer.sample.ok:
                await asyncio.sleep(random.random() * _THINKING_SECONDS)
            else:
                await asyncio.sleep(answer.retry_after if answer.retry_after is not None else _PATIENCE_SECONDS)


def _mix(writer: Writer, reader: Reader) -> Mapping[Job, int]:
    """Jobs and how often each is done, in percent."""
    return {
        writer.write: 14,
        writer.write_embedded: 6,
        writer.batch: 4,
        writer.delete: 10,
        writer.edge: 4,
        writer.erase: 1,
        reader.recall: 24,
        reader.recall_embedded: 8,
        reader.get: 14,
        reader.list: 7,
        reader.edges: 5,
        reader.agent: 3,
    }
