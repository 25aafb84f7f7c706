"""Jobs that make up for projections that failed, or that a process died before."""

from __future__ import annotations

from engram.jobs.handling import JobFailed, Progress
from engram.jobs.rows import Work
from engram.memories.projections import Projector
from engram.tenants.scope import Scope


class ProjectionJobs:
    def __init__(self, projector: Projector) -> None:
        self._projector = projector

    async def run(self, scope: Scope, work: Work, progress: Progress) -> None:
        """Raises JobFailed while there is a memory for which it cannot be done."""
        assert work.projection is not None
        tried, error = await self._projector.make_up(scope, work.agent_id, work.projection, work.id)
        await progress.measure(tried)
        if error is not None:
            raise JobFailed(error)
        await progress.advance(tried)
