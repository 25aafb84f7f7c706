"""The queue's library finds in the database what it would have made."""

from __future__ import annotations

from datetime import timedelta

import asyncpg
import pytest
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver

from engram.jobs.queue import queries
from engram.jobs.retries import RetryPolicy


async def test_the_library_would_change_nothing(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        plan = await queries(AsyncpgDriver(connection)).plan_upgrade()
    finally:
        await connection.close()
    assert (plan.statements, plan.notes) == ((), ())


@pytest.mark.parametrize(
    ("attempts", "pauses"), [(1, [None]), (4, [30, 60, 120, None]), (9, [30, 60, 120, 240, 480, 960, 1920, 3600, None])]
)
def test_the_pause_between_attempts_doubles_up_to_an_hour(attempts: int, pauses: list[int | None]) -> None:
    policy = RetryPolicy(attempts, timedelta(seconds=30))
    expected = [timedelta(seconds=pause) if pause is not None else None for pause in pauses]
    assert [policy.pause(attempt) for attempt in range(1, attempts + 1)] == expected
