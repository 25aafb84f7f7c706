"""What the server holds over time: memory, files, connections to the database."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]

from benchmarks.reliability.postgres import Postgres

_MB = 1024 * 1024
_SAMPLES = 600
_WARM_UP = 0.2
"""Which part of the run the server may take to fill its caches and its pool."""


@dataclass(frozen=True, slots=True)
class Held:
    """``connections`` is None while Postgres is away."""

    at: float
    resident_mb: float
    files: int
    connections: int | None

    @property
    def other_files(self) -> int:
        """Those that are no connection to the database, of which a pool holds now more, now fewer."""
        return self.files - (self.connections or 0)


async def held(pid: int, postgres: Postgres) -> Held:
    connections = await postgres.connections()
    process = psutil.Process(pid)
    return Held(time.monotonic(), process.memory_info().rss / _MB, process.num_fds(), connections)


async def watch(pid: int, postgres: Postgres, seconds: float) -> list[Held]:
    """What is held, some hundred times over so many seconds, at most once a second."""
    found = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found.append(await held(pid, postgres))
        await asyncio.sleep(min(1.0, max(0.05, seconds / _SAMPLES)))
    return found


@dataclass(frozen=True, slots=True)
class Trend:
    """Of the memory after the warm-up, in MB: the median of the first and of the last tenth, and the slope between."""

    first: float
    last: float
    a_minute: float


def trend(found: Sequence[Held]) -> Trend:
    """Raises ValueError for fewer than two."""
    begun = found[0].at + _WARM_UP * (found[-1].at - found[0].at)
    warm = [one for one in found if one.at >= begun]
    tenth = max(1, len(warm) // 10)
    minutes = [one.at / 60 for one in warm]
    memory = [one.resident_mb for one in warm]
    if len(warm) < 2:
        raise ValueError("a trend takes two values")
    slope = statistics.linear_regression(minutes, memory).slope
    return Trend(statistics.median(memory[:tenth]), statistics.median(memory[-tenth:]), slope)
