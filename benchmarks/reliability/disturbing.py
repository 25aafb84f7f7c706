"""Doing to the server's dependencies what the plan says, when it says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from benchmarks.reliability.embedder import FAILING, Mood, Provider
from benchmarks.reliability.plan import Cause, Disturbance, Planned
from benchmarks.reliability.postgres import Postgres


async def disturb(
    planned: Sequence[Planned], began: float, postgres: Postgres, provider: Provider, said: Callable[[str], None]
) -> list[Disturbance]:
    """All of them, one after the other, at their times after ``began``."""
    done = []
    for one in sorted(planned, key=lambda one: one.at):
        await asyncio.sleep(max(0.0, began + one.at - time.monotonic()))
        said(one.cause)
        at = time.monotonic()
        if one.cause is Cause.restart:
            await postgres.restart()
        elif one.cause is Cause.kill:
            await postgres.kill()
        else:
            await _fail(provider, one.seconds)
        done.append(Disturbance(one.cause, at, time.monotonic()))
        said(f"{one.cause}: {done[-1].ended - at:.1f} s, over")
    return done


async def _fail(provider: Provider, seconds: float) -> None:
    """In each way for the same part of the time."""
    try:
        for mood in FAILING:
            provider.mood = mood
            await asyncio.sleep(seconds / len(FAILING))
    finally:
        provider.mood = Mood.well
