"""Use cases that change facts: appending them, deleting, taking back and restoring one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from asyncpg import UniqueViolationError
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.entities.service import EntityService
from engram.facts.repository import FactRepository
from engram.facts.rows import Closure, NewFact, Prepared, fields_of, prepare
from engram.facts.schemas import (
    ClosurePolicy,
    FactAppend,
    FactAppended,
    FactBatch,
    FactChanged,
    FactsAppended,
    FactStatus,
)
from engram.facts.slots import TICK, Appending, appending, changing, later_than, news
from engram.facts.statements.service import StatementService
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.telemetry.counting import facts_written
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope


def fact_not_found(id: object) -> NotFoundProblem:
    return NotFoundProblem(f"There is no fact {id}.")


@dataclass(frozen=True, slots=True)
class _Change:
    """To which status a fact goes, from which, and how that is noted."""

    to: FactStatus
    of: tuple[FactStatus, ...]
    action: Action


_DELETE = _Change(FactStatus.deleted, (FactStatus.standing,), Action.fact_delete)
_UNDO = _Change(FactStatus.undone, (FactStatus.standing, FactStatus.deleted), Action.fact_undo)
_RESTORE = _Change(FactStatus.standing, (FactStatus.deleted, FactStatus.undone), Action.fact_restore)


class FactWriting:
    def __init__(self, database: TenantDatabase, agents: AgentService) -> None:
        self._database = database
        self._agents = agents
        self._entities = EntityService()
        self._statements = StatementService(self._entities)
        self._audit = Audit()

    async def append(self, scope: Scope, request: FactAppend) -> FactAppended:
        """Store a fact, and end what it supersedes. Raises NotFoundProblem for an unknown agent, and
        InvalidInputProblem where the fact would have ended before it begins."""
        agent_id = UUID(request.agent_id)
        async with self._database.transaction(scope) as connection:
            done = await self._append(connection, scope, agent_id, await asyncio.to_thread(prepare, [request]), "{1}")
            id = done.new[0][0].id
            row = (await FactRepository(connection, scope).by_ids(agent_id, [id]))[id]
        facts_written(1)
        return FactAppended.model_construct(**fields_of(row), closed=_closed(done))

    async def append_many(self, scope: Scope, request: FactBatch, ids: Sequence[UUID] | None = None) -> FactsAppended:
        """Store facts in their order, all of them or none, under these ids or under new ones.

        Raises what ``append`` does, and ConflictProblem where an id is taken.
        """
        prepared = await asyncio.to_thread(prepare, request.items, ids)
        try:
            async with self._database.transaction(scope) as connection:
                done = await self._append(connection, scope, UUID(request.agent_id), prepared, "items.{0}.{1}")
        except UniqueViolationError:
            raise ConflictProblem("There is a fact with one of these ids already.") from None
        facts_written(len(done.new))
        return FactsAppended.model_construct(ids=[str(fact.id) for fact, _, _ in done.new], closed=_closed(done))

    async def delete(self, scope: Scope, id: str) -> FactChanged:
        """Believe a fact no longer. What it superseded stays superseded. Raises NotFoundProblem."""
        return await self._change(scope, id, _DELETE)

    async def undo(self, scope: Scope, id: str) -> FactChanged:
        """Take a fact back as if it had never been appended: what it superseded holds on, as far as others allow.

        Raises NotFoundProblem, also where it is taken back already.
        """
        return await self._change(scope, id, _UNDO)

    async def restore(self, scope: Scope, id: str) -> FactChanged:
        """Bring back a fact that was deleted or taken back, at its old place. Raises NotFoundProblem, and
        ConflictProblem for one that stands."""
        return await self._change(scope, id, _RESTORE)

    async def _append(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, prepared: Prepared, field: str
    ) -> Appending:
        await self._agents.hold(connection, scope, agent_id)
        facts = FactRepository(connection, scope)
        entities = await self._entities.named(connection, scope, agent_id, prepared.names)
        await facts.lock_slots(agent_id, {fact.slot for fact in prepared.facts})
        now = datetime.now(UTC)
        rows = await facts.touched(agent_id, news(prepared.facts, now))
        now = later_than(rows, now)
        _check_windows(prepared.facts, now, field)
        done = appending(prepared.facts, rows, now)
        await facts.insert(agent_id, done.new, entities)
        # What a fact ends by from the start is a closure like any other.
        early = [(closure, at) for _, closure, at in done.new if closure.superseded_by is not None]
        # As one: with the last of them what they end is known to have ended.
        later = now + (len(prepared.facts) - 1) * TICK
        closures = [*early, *((closure, later) for closure in done.closed)]
        if closures:
            await facts.close(agent_id, [closure for closure, _ in closures], [at for _, at in closures])
        await facts.add_words(agent_id, prepared.words)
        await facts.add_memories(agent_id, prepared.facts)
        ids = [fact.id for fact in prepared.facts]
        await self._note(connection, scope, Action.fact_append, agent_id, ids, {"closed": len(done.closed)})
        return done

    async def _change(self, scope: Scope, id: str, change: _Change) -> FactChanged:
        async with self._database.transaction(scope) as connection:
            facts = FactRepository(connection, scope)
            place = await facts.place(UUID(id))
            if place is None:
                raise fact_not_found(id)
            agent_id, slot = place
            await self._agents.hold(connection, scope, agent_id)
            await facts.lock_slots(
                agent_id, {slot, *await self._statements.beside(connection, scope, agent_id, UUID(id))}
            )
            fact = (await facts.by_ids(agent_id, [UUID(id)])).get(UUID(id))
            if fact is None or fact["status"] not in change.of:
                if fact is not None and change is _RESTORE:
                    raise ConflictProblem(f"Fact {id} stands: there is nothing to restore.")
                raise fact_not_found(id)
            if fact["memory_id"] is not None:
                closures = await self._changed_statement(connection, scope, agent_id, fact, change)
                return await self._answer(connection, scope, agent_id, UUID(id), change, closures)
            rows = await facts.unended(agent_id, {slot: fact["valid_from"]})
            closures = changing(UUID(id), change.to, rows, fact)
            now = later_than([*rows, fact], datetime.now(UTC))
            await facts.close(agent_id, closures, [now] * len(closures))
            return await self._answer(connection, scope, agent_id, UUID(id), change, closures)

    async def _changed_statement(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, fact: Mapping[str, Any], change: _Change
    ) -> list[Closure]:
        """Of what follows from a memory, by the rules of what does; the slots of all that does are locked."""
        if change is _RESTORE and fact["closed_by"] == ClosurePolicy.memory:
            raise ConflictProblem(f"Memory {fact['memory_id']} does not say that any more: restore or change it.")
        closures = await self._statements.change(connection, scope, agent_id, [fact["id"]], change.to)
        if change is _RESTORE:
            # The memory may have been restored meanwhile, and says it anew since then.
            await self._statements.restate(connection, scope, agent_id, [fact["memory_id"]])
        return closures

    async def _answer(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        id: UUID,
        change: _Change,
        closures: Sequence[Closure],
    ) -> FactChanged:
        changed = [closure.fact_id for closure in closures if closure.fact_id != id]
        await self._note(connection, scope, change.action, agent_id, [id], {"changed": len(changed)})
        row = (await FactRepository(connection, scope).by_ids(agent_id, [id]))[id]
        return FactChanged.model_construct(**fields_of(row), changed=[str(other) for other in changed])

    async def _note(
        self,
        connection: AsyncConnection,
        scope: Scope,
        action: Action,
        agent_id: UUID,
        ids: Sequence[UUID],
        details: Mapping[str, JsonValue],
    ) -> None:
        await self._audit.record(connection, scope, action, agent_id=agent_id, targets=ids, details=details)


def _check_windows(facts: Sequence[NewFact], now: datetime, field: str) -> None:
    for place, fact in enumerate(facts):
        ends = fact.item.valid_until
        if fact.item.valid_from is None and ends is not None and ends <= now + place * TICK:
            raise InvalidInputProblem.of(
                field.format(place, "valid_until"), "must be later than valid_from, which is now where none is given"
            )


def _closed(done: Appending) -> list[str]:
    return [str(closure.fact_id) for closure in done.closed]
