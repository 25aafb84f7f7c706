"""Whether a database takes as many connections as several workers may open."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.problems import ConfigurationProblem
from engram.settings import Settings

OUTSIDE = 1
"""Connections of a process that are not of its pool: whoever does jobs hears of them through one."""


async def check_connections(connection: AsyncConnection, settings: Settings) -> None:
    """Raises ConfigurationProblem where the pools of all workers together could not be filled."""
    # The last of these came with PostgreSQL 16.
    available = await driver(connection).fetchval(
        """
        SELECT sum(CASE WHEN name = 'max_connections' THEN setting::int ELSE -setting::int END)::int
        FROM pg_settings
        WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')
        """
    )
    needed = settings.workers * settings.pool_size + OUTSIDE
    if needed <= available:
        return
    raise ConfigurationProblem(
        f"{settings.workers} workers (ENGRAM_WORKERS) with {settings.pool_size} connections each (ENGRAM_POOL_SIZE) "
        f"need {needed}, and the database takes {available}. {_advice(settings, available - OUTSIDE)}"
    )


def _advice(settings: Settings, available: int) -> str:
    fits = available // settings.workers
    if fits:
        return f"Set ENGRAM_POOL_SIZE to {fits} or less, or ENGRAM_WORKERS to less, or max_connections there to more."
    return "Set ENGRAM_WORKERS to less, or max_connections there to more."
