"""Use cases of agents."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from pydantic import JsonValue, TypeAdapter
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.agents.counts import AgentCounts
from engram.agents.repository import AgentRepository, AgentSizes
from engram.agents.schemas import Agent, AgentCreate, AgentPage, AgentStats, AgentUpdate, ProjectionStats
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.paging import decode_cursor, encode_cursor
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem, PermissionDeniedProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.text.terms import LANGUAGES
from engram.wire import Name

_CURSOR: TypeAdapter[tuple[str]] = TypeAdapter(tuple[Name])


def agent_not_found(id: object) -> NotFoundProblem:
    return NotFoundProblem(f"There is no agent {id}.")


class AgentService:
    def __init__(self, database: TenantDatabase) -> None:
        self._database = database
        self._audit = Audit()

    async def create(self, scope: Scope, request: AgentCreate) -> tuple[Agent, bool]:
        """Get or create an agent by name; says whether it is new. An existing one is returned as it is."""
        if request.language not in LANGUAGES:
            raise InvalidInputProblem.of("language", f"must be one of {', '.join(LANGUAGES)}")
        async with self._database.transaction(scope) as connection:
            agents = AgentRepository(connection, scope)
            # A key to one agent finds that one here. It inserts nothing, or where the agent goes in this moment it
            # would make another.
            created = scope.agent_id is None and await agents.insert(uuid7(), request)
            row = await agents.by_name(request.name)
            if row is None and scope.agent_id is not None:
                raise PermissionDeniedProblem("This key is for one agent: it makes no others.")
            if created and row is not None:
                await self._note(connection, scope, Action.agent_create, row["id"], name=request.name)
        if row is None:
            raise ConflictProblem(f"Agent {request.name!r} was deleted in the same moment; try again.")
        return Agent.model_validate(row), created

    async def get(self, scope: Scope, id: str) -> Agent:
        async with self._database.snapshot(scope) as connection:
            row = await AgentRepository(connection, scope).by_id(UUID(id))
        if row is None:
            raise agent_not_found(id)
        return Agent.model_validate(row)

    async def list(self, scope: Scope, *, name: str | None, limit: int, cursor: str | None) -> AgentPage:
        """Agents by name; with ``name``, that one or none."""
        after = decode_cursor(cursor, _CURSOR)[0] if cursor is not None else None
        async with self._database.snapshot(scope) as connection:
            agents = AgentRepository(connection, scope)
            if name is not None:
                row = await agents.by_name(name)
                rows, more = [row] if row else [], False
            else:
                rows, more = await agents.page(limit, after)
        data = [Agent.model_validate(row) for row in rows]
        return AgentPage(data=data, next_cursor=encode_cursor(data[-1].name) if more else None)

    async def update(self, scope: Scope, id: str, request: AgentUpdate) -> Agent:
        """Change what the request names. Raises ConflictProblem where the new name is taken.

        Raises PermissionDeniedProblem for a new name where a key is for one agent: it would tell the names of others.
        """
        changes = request.model_dump(mode="json", include=request.model_fields_set)
        empty = [field for field, value in changes.items() if value is None and field != "hop_penalty"]
        if empty:
            raise InvalidInputProblem.of(empty[0], "must not be null")
        try:
            async with self._database.transaction(scope) as connection:
                agents = AgentRepository(connection, scope)
                row = await agents.by_id(UUID(id))
                if row is not None and scope.agent_id is not None and changes.get("name", row["name"]) != row["name"]:
                    raise PermissionDeniedProblem("This key is for one agent, and cannot rename it.")
                if row is not None and changes:
                    found = await agents.update(UUID(id), changes, datetime.now(UTC))
                    row = await agents.by_id(UUID(id)) if found else None
                if changes and row is not None:
                    await self._note(connection, scope, Action.agent_update, UUID(id), fields=[*sorted(changes)])
        except IntegrityError:
            raise ConflictProblem(f"Another agent is named {request.name!r}.") from None
        if row is None:
            raise agent_not_found(id)
        return Agent.model_validate(row)

    async def delete(self, scope: Scope, id: str) -> None:
        """Erase an agent and all that it holds, for good."""
        async with self._database.administration(scope) as connection:
            name = await AgentRepository(connection, scope).delete(UUID(id))
            if name is None:
                raise agent_not_found(id)
            await self._note(connection, scope, Action.agent_delete, UUID(id), name=name)

    async def stats(self, scope: Scope, id: str) -> AgentStats:
        async with self._database.snapshot(scope) as connection:
            agents = AgentRepository(connection, scope)
            if await agents.by_id(UUID(id)) is None:
                raise agent_not_found(id)
            counts = AgentCounts(connection, scope, UUID(id))
            memories, edges = await counts.memories(), await counts.edges()
            pending, projections = await counts.owed()
            entities, postings = await counts.entities(), await counts.postings()
            facts, merges = await counts.facts(), await counts.merges()
        return AgentStats(
            agent_id=id,
            memories=memories.get("current", 0),
            memories_by_status=memories,
            edges=sum(edges.values()),
            edges_by_type=edges,
            entities=entities,
            facts=facts.get("standing", 0),
            facts_by_status=facts,
            merges=merges,
            postings=postings,
            pending_links=pending,
            projections={name: ProjectionStats(**found) for name, found in projections.items()},
        )

    async def _note(
        self, connection: AsyncConnection, scope: Scope, action: Action, id: UUID, **details: JsonValue
    ) -> None:
        await self._audit.record(connection, scope, action, agent_id=id, targets=[id], details=details)

    async def language(self, connection: AsyncConnection, scope: Scope, id: UUID) -> str | None:
        """The language of an agent's texts, in a transaction of another domain; None for an unknown agent."""
        row = await AgentRepository(connection, scope).by_id(id)
        return row["language"] if row else None

    async def sizes(self, connection: AsyncConnection, scope: Scope, id: UUID) -> AgentSizes:
        """How many memories and terms an agent holds, in a transaction of another domain."""
        return await AgentRepository(connection, scope).sizes(id)

    async def hold(self, connection: AsyncConnection, scope: Scope, id: UUID) -> None:
        """Begin a write to an agent, in a transaction of another domain: it is not deleted before that ends.

        Whoever writes rows of an agent calls this first, so that such writes and the deletion of the agent take their
        locks in one order. Raises NotFoundProblem where the agent is gone.
        """
        if not await AgentRepository(connection, scope).hold(id):
            raise agent_not_found(id)

    async def hold_alone(self, connection: AsyncConnection, scope: Scope, id: UUID) -> None:
        """The same for what must not meet other writes at all: it begins when those under way have ended, and others
        wait for its end. Raises NotFoundProblem where the agent is gone."""
        if not await AgentRepository(connection, scope).hold(id, alone=True):
            raise agent_not_found(id)
