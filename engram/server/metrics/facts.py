"""What only the database knows, read for a scrape."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from engram.db.database import Database
from engram.db.sizes import TableSize, table_sizes
from engram.jobs.rows import JobCount
from engram.memories.pending import Owed
from engram.problems import Problem
from engram.server.metrics.tables import TABLES
from engram.services import Services
from engram.telemetry.errors import described

READ_SECONDS = 3.0
"""How long a scrape waits for the database: Prometheus gives up after ten seconds."""

SIZES_SECONDS = 15.0
"""How old sizes may be."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """``up``: whether it answered in time. Where it did not, nothing is known of the rest, and nothing is made up."""

    up: bool
    owed: Sequence[Owed] = ()
    jobs: Sequence[JobCount] = ()
    sizes: Sequence[TableSize] = ()


class DatabaseReader:
    """Reads for all scrapes of one app: those that come at once share an answer."""

    def __init__(self) -> None:
        self._reading: asyncio.Task[DatabaseFacts] | None = None
        self._sizes: Sequence[TableSize] = ()
        self._sized_at: float | None = None

    async def read(self, services: Services) -> DatabaseFacts:
        """Answers within ``READ_SECONDS``, whatever the database does. Never raises for its failures."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(services))
        reading = self._reading  # while this one waits, the next scrape may begin to read anew
        # Not cancelled: to give up a statement of a database that hangs takes time too, which is not the scrape's.
        done, _ = await asyncio.wait({reading}, timeout=READ_SECONDS)
        return reading.result() if done else DatabaseFacts(up=False)

    async def _read(self, services: Services) -> DatabaseFacts:
        try:
            async with asyncio.timeout(READ_SECONDS):
                owed = await services.projector.owed()
                jobs = await services.jobs.count()
                return DatabaseFacts(up=True, owed=owed, jobs=jobs, sizes=await self._fresh_sizes(services.database))
        except (TimeoutError, Problem):
            return DatabaseFacts(up=False)
        except Exception as error:
            # A scrape says what it can, whatever is the matter with the rest.
            log.warning("metrics.database_failed", error=described(error))
            return DatabaseFacts(up=False)

    async def _fresh_sizes(self, database: Database) -> Sequence[TableSize]:
        if self._sized_at is None or time.monotonic() - self._sized_at > SIZES_SECONDS:
            async with database.snapshot() as connection:
                self._sizes = await table_sizes(connection, TABLES)
            self._sized_at = time.monotonic()
        return self._sizes
