"""Taking times: side by side, question by question, so that what else the machine does falls on both alike."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

Job = Callable[[int], Awaitable[Any]]
"""Does its work for the question of this number."""


class Times:
    """Seconds that a thing took, each time."""

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        self.seconds = list(seconds)

    def milliseconds(self, percent: float) -> float:
        """The percentile, by nearest rank: a time that was really taken. Raises ValueError where there is none."""
        if not self.seconds:
            raise ValueError("no times were taken")
        ordered = sorted(self.seconds)
        return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)] * 1000

    async def of(self, work: Awaitable[T]) -> T:
        """Wait for it, and keep how long that took."""
        started = time.perf_counter()
        result = await work
        self.seconds.append(time.perf_counter() - started)
        return result


async def alternate(jobs: Mapping[str, Job], count: int) -> dict[str, Times]:
    """Each job once a question; the one that goes first, and finds colder caches, changes from question to question."""
    times = {name: Times() for name in jobs}
    names = list(jobs)
    for number in range(count):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            await times[name].of(jobs[name](number))
    return times


async def concurrently(job: Callable[[int, int], Awaitable[Any]], count: int, workers: int) -> tuple[Times, float]:
    """``job(worker, number)`` for all numbers, so many at once: each one's time, and the seconds all took."""
    times = Times()
    numbers = iter(range(count))

    async def work(worker: int) -> None:
        for number in numbers:
            await times.of(job(worker, number))

    started = time.perf_counter()
    await asyncio.gather(*(work(worker) for worker in range(workers)))
    return times, time.perf_counter() - started
