"""Deletes memories by what they are: exactly those that matched when it began, some hundreds a transaction.

So no transaction is long, and others read and write meanwhile. One that fails leaves those before it done: to ask again
goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.memories.listing import ListingRepository
from engram.memories.predicates import Visibility
from engram.memories.removal import Removal
from engram.memories.schemas import MemoriesDelete, MemoriesDeleted, MemoryStatus
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

BATCH = 200
"""Memories of one transaction: fractions of a second, and locks that hardly anybody waits for."""

STANDING = (MemoryStatus.current, MemoryStatus.superseded)
"""What can be deleted: also what has ended, or was superseded, as it tells of the past."""

SAMPLE = 20
"""Ids that a dry run shows."""


class Deletion:
    def __init__(self, database: TenantDatabase, agents: AgentService, removal: Removal) -> None:
        self._database = database
        self._agents = agents
        self._removal = removal
        self._audit = Audit()

    async def run(self, scope: Scope, request: MemoriesDelete) -> MemoriesDeleted:
        """Delete what the request describes, or with ``dry_run`` count it.

        Raises NotFoundProblem where the agent is gone, also halfway.
        """
        agent_id = UUID(request.agent_id)
        await self._agents.get(scope, request.agent_id)
        statuses = (MemoryStatus(request.status),) if request.status else STANDING
        visibility = Visibility.of(request, datetime.now(UTC), statuses=statuses)
        async with self._database.snapshot(scope) as connection:
            memories = ListingRepository(connection, scope)
            chosen = await memories.ids(agent_id, visibility, limit=request.limit)
            matched = await memories.total(agent_id, visibility) if len(chosen) == request.limit else len(chosen)
        if request.dry_run:
            sample = [str(id) for id in chosen[:SAMPLE]]
            return MemoriesDeleted(matched=matched, deleted=0, remaining=matched, dry_run=True, sample=sample)
        deleted = 0
        for start in range(0, len(chosen), BATCH):
            deleted += await self._delete(scope, agent_id, chosen[start : start + BATCH])
        return MemoriesDeleted(matched=matched, deleted=deleted, remaining=matched - len(chosen))

    async def _delete(self, scope: Scope, agent_id: UUID, ids: Sequence[UUID]) -> int:
        async with self._database.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            deleted = await self._removal.delete_many(connection, scope, agent_id, ids)
            if deleted:
                await self._audit.record(connection, scope, Action.memory_delete, agent_id=agent_id, targets=deleted)
        return len(deleted)
