"""Use cases of merges: somebody says that two names are one node, and takes that back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.agents.service import AgentService, agent_not_found
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.facts.merge_repository import MergeRepository
from engram.facts.merges import Groups
from engram.facts.names import node_name
from engram.facts.schemas import MAX_MERGES, Merge, MergeCreate, MergeCreated, MergePage
from engram.paging import decode_cursor, encode_cursor
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

_CURSOR: TypeAdapter[tuple[UUID]] = TypeAdapter(tuple[UUID])


class MergingService:
    """Merges are an agent's, whoever its users are; they change what is walked, never what is said."""

    def __init__(self, database: TenantDatabase, agents: AgentService) -> None:
        self._database = database
        self._agents = agents
        self._audit = Audit()

    async def merge(self, scope: Scope, request: MergeCreate) -> MergeCreated:
        """Make two names one node. Raises NotFoundProblem for an unknown agent, ConflictProblem where they are one
        already, or the agent has as many merges as it may."""
        if node_name(request.name) == node_name(request.other):
            raise InvalidInputProblem.of(
                "other", "is the same node as name already: they differ in case or spaces only"
            )
        agent_id, id, now = UUID(request.agent_id), uuid7(), datetime.now(UTC)
        async with self._database.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            merges = MergeRepository(connection, scope)
            standing = await merges.standing(agent_id)
            groups = groups_of(standing)
            if groups.resolve(node_name(request.name)) == groups.resolve(node_name(request.other)):
                raise ConflictProblem(f"{request.name!r} and {request.other!r} are one node already.")
            if len(standing) >= MAX_MERGES:
                raise ConflictProblem(f"The agent has {MAX_MERGES} merges, and may have no more.")
            await merges.insert(agent_id, id, request.name, request.other, now)
            await self._audit.record(connection, scope, Action.fact_merge, agent_id=agent_id, targets=[id], details={})
        return MergeCreated(
            id=str(id),
            agent_id=request.agent_id,
            name=request.name,
            other=request.other,
            recorded_at=now,
            undone_at=None,
            canonical=groups.merge(request.name, request.other),
        )

    async def list(
        self, scope: Scope, agent_id: str, *, include_undone: bool, limit: int, cursor: str | None
    ) -> MergePage:
        """Merges of an agent, the one said last first. Raises NotFoundProblem."""
        after = decode_cursor(cursor, _CURSOR)[0] if cursor is not None else None
        async with self._database.snapshot(scope) as connection:
            if await self._agents.language(connection, scope, UUID(agent_id)) is None:
                raise agent_not_found(agent_id)
            rows = await MergeRepository(connection, scope).page(
                UUID(agent_id), include_undone=include_undone, limit=limit + 1, after=after
            )
        data = [_merge(row) for row in rows[:limit]]
        return MergePage(data=data, next_cursor=encode_cursor(data[-1].id) if len(rows) > limit else None)

    async def undo(self, scope: Scope, id: str) -> Merge:
        """Take a merge back: its names are two nodes again, as far as other merges allow. Raises NotFoundProblem."""
        async with self._database.transaction(scope) as connection:
            merges = MergeRepository(connection, scope)
            agent_id = await merges.agent_of(UUID(id))
            row = None
            if agent_id is not None:
                await self._agents.hold(connection, scope, agent_id)
                row = await merges.undo(agent_id, UUID(id), datetime.now(UTC))
            if row is None or agent_id is None:
                raise NotFoundProblem(f"There is no merge {id} that stands.")
            await self._audit.record(
                connection, scope, Action.fact_unmerge, agent_id=agent_id, targets=[UUID(id)], details={}
            )
        return _merge(row)

    async def said(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> Sequence[tuple[str, str]]:
        """Names that are merged, as they were written, in the order in which that was said."""
        rows = await MergeRepository(connection, scope).standing(agent_id, None)
        return [(row["name"], row["other"]) for row in rows]

    async def groups(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, known_at: datetime | None
    ) -> Groups:
        """What is merged in an agent, in a transaction of another use case."""
        return groups_of(await MergeRepository(connection, scope).standing(agent_id, known_at))


def groups_of(rows: list[dict[str, Any]]) -> Groups:
    return Groups((row["name"], row["other"]) for row in rows)


def _merge(row: dict[str, Any]) -> Merge:
    return Merge(**{**row, "id": str(row["id"]), "agent_id": str(row["agent_id"])})
