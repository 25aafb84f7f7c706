"""Jobs that make all links and recognised mentions of an agent anew, as if its memories were written now, add up anew
what occurs together, and make entities of what facts name."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.entities.occurring.remaking import OccurrenceRemaking
from engram.facts.naming import FactNaming
from engram.jobs.handling import Progress
from engram.jobs.rows import Work
from engram.memories.projections import Projector
from engram.memories.roll import MemoryRoll
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

BATCH = 200
"""Memories that are worked on between two notes of how far the work is."""


class RebuildingJobs:
    """Goes through an agent's memories in the order of their arrival, each projection on each batch of them.

    Every step is a short transaction of its projection's, as in a write, beside which others write. What is written
    after the work began links itself. Interrupted, or taken over from a worker that died, it goes on after the last
    batch that was noted.
    """

    def __init__(
        self, database: TenantDatabase, agents: AgentService, projector: Projector, *, batch: int = BATCH
    ) -> None:
        self._database = database
        self._projector = projector
        self._batch = batch
        self._occurrences = OccurrenceRemaking(database)
        self._facts = FactNaming(database, agents)

    async def run(self, scope: Scope, work: Work, progress: Progress) -> None:
        reached, last = work.reached, work.last
        if work.total is None:
            async with self._database.snapshot(scope) as connection:
                total, last = await MemoryRoll(connection, scope).length(work.agent_id)
            await progress.measure(total, last)
        while last is not None:
            async with self._database.snapshot(scope) as connection:
                ids = await MemoryRoll(connection, scope).next(work.agent_id, reached, last, self._batch)
            if not ids:
                break
            for projection in self._projector.projections:
                await projection.project(scope, work.agent_id, ids, _settles_nothing)
                await projection.remove_stale(scope, work.agent_id, ids)
            reached = ids[-1]
            await progress.advance(len(ids), reached)
        await self._occurrences.run(scope, work.agent_id)
        await self._facts.run(scope, work.agent_id)


async def _settles_nothing(connection: AsyncConnection) -> None:
    """What is owed stays owed: it may be to a later version than was seen here."""
