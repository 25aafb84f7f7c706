"""Use cases of statements that others call inside their own transactions.

Whoever changes a memory restates it in the same transaction, in which the memory is locked, after all that finds it and
before what occurs together is counted. So a close cannot fail by itself: it is there with the write that made it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.entities.service import EntityService
from engram.facts.erasing_repository import ErasingRepository
from engram.facts.keys import node_key, word_key
from engram.facts.names import node_name, words_of
from engram.facts.ontology.cardinalities import Cardinalities
from engram.facts.ontology.repository import OntologyRepository
from engram.facts.ontology.schemas import Cardinality
from engram.facts.quantities.service import QuantityService
from engram.facts.repository import FactRepository
from engram.facts.rows import Closure
from engram.facts.schemas import ClosurePolicy, FactStatus
from engram.facts.slots import TICK
from engram.facts.statements.repository import NewStatement, StatementRepository
from engram.facts.statements.rows import Statement, restated, settle, stated
from engram.facts.statements.stating import Stating, Wanted, wanted
from engram.tenants.scope import Scope


class StatementService:
    def __init__(self, entities: EntityService | None = None) -> None:
        self._entities = entities or EntityService()
        self._quantities = QuantityService(self._entities)

    async def restate(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        memory_ids: Collection[UUID],
        *,
        at: datetime | None = None,
        restored: Mapping[UUID, datetime] | None = None,
    ) -> list[Closure]:
        """Let the statements of memories follow from their rows, and settle the slots in which they are; and let their
        numbers follow. What comes to be believed of facts that there were.

        ``at`` is when the memories came to be what they are, from which on what they state is known; default: now.
        ``restored`` says which of them are restored or said again, and when: what they say holds from then on, or from
        its own later start.
        """
        await self._quantities.restate(connection, scope, agent_id, memory_ids)
        statements = StatementRepository(connection, scope)
        if restored:
            await statements.state(agent_id, restored)
        memories = await statements.memories(agent_id, memory_ids)
        if not memories:
            return []
        ids = [memory.id for memory in memories]
        cardinalities = await self.cardinalities(connection, scope, agent_id)
        said = await asyncio.to_thread(_said, memories, cardinalities)
        entities = await self._named(connection, scope, agent_id, said.values())
        slots = {statement.slot for each in said.values() for statement in each}
        slots |= await statements.slots_of(agent_id, ids)
        await FactRepository(connection, scope).lock_slots(agent_id, slots)
        # By hand they may be changed until the slots are locked.
        known = _by_memory(await statements.of_memories(agent_id, ids))
        new = [
            NewStatement(each, stated(each, entities[each.object_name], memory), entities[each.subject_name])
            for memory in memories
            for each in restated(memory, known.get(memory.id, []), said[memory.id])
        ]
        mine = [row for rows in known.values() for row in rows]
        return await self._write(connection, scope, agent_id, mine, new, cardinalities, at=at)

    async def state_next(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, *, after: UUID | None, most: int
    ) -> list[UUID]:
        """Let statements follow from the next memories that declare any, or numbers, in the order of their ids, and say
        which those are. As of when they were stated: whatever order they come in, the outcome is that of the writes."""
        ids = await StatementRepository(connection, scope).stating(agent_id, after=after, most=most)
        await self.restate(connection, scope, agent_id, ids)
        return ids

    async def state_again(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]
    ) -> bool:
        """What memories that are locked say, holds from now on, where something newer had ended any of it: they are
        said again, in this order. Whether it had."""
        known = _by_memory(await StatementRepository(connection, scope).of_memories(agent_id, memory_ids))
        if not any(_outdated(rows) for rows in known.values()):
            return False
        now = datetime.now(UTC)
        restored = {id: now + place * TICK for place, id in enumerate(memory_ids)}
        await self.restate(connection, scope, agent_id, memory_ids, restored=restored)
        return True

    async def change(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        ids: Collection[UUID],
        status: FactStatus,
        policy: ClosurePolicy | None = None,
    ) -> list[Closure]:
        """Give statements another status by somebody's word, and settle their slots, which the caller has locked: what
        comes to be believed of them, and of others."""
        rows = await StatementRepository(connection, scope).by_ids(agent_id, ids)
        for row in rows:
            row.take_out(status, policy)
        cardinalities = await self.cardinalities(connection, scope, agent_id)
        return await self._write(connection, scope, agent_id, rows, [], cardinalities)

    async def beside(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, id: UUID) -> set[UUID]:
        """The slots of all that follows from the memory of a statement; none of another fact."""
        statements = StatementRepository(connection, scope)
        return await statements.slots_of(agent_id, [row.memory_id for row in await statements.by_ids(agent_id, [id])])

    async def settle(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, slots: Mapping[UUID, datetime]
    ) -> list[Closure]:
        """Settle slots anew, each from a moment on: as of the writes that stated its values."""
        await FactRepository(connection, scope).lock_slots(agent_id, slots)
        cardinalities = await self.cardinalities(connection, scope, agent_id)
        return await self._write(connection, scope, agent_id, [], [], cardinalities, from_=slots)

    async def erase(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID) -> int:
        """Erase the statements of a memory, as if they had never been made; how many. The caller holds the agent
        alone."""
        statements = StatementRepository(connection, scope)
        slots = await statements.slots_of(agent_id, [memory_id])
        if not slots:
            return 0
        await FactRepository(connection, scope).lock_slots(agent_id, slots)
        cardinalities = await self.cardinalities(connection, scope, agent_id)
        rows = await statements.of_memories(agent_id, [memory_id])
        first = _days(row for row in rows if cardinalities.one(row.predicate))
        erased, nodes = await statements.erase(agent_id, memory_id)
        erasing = ErasingRepository(connection, scope)
        await erasing.erase_words(agent_id, nodes)
        await erasing.erase_slots(agent_id, slots)
        await self._write(connection, scope, agent_id, [], [], cardinalities, from_=first)
        return erased

    async def cardinalities(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> Cardinalities:
        row = await OntologyRepository(connection, scope).get(agent_id)
        return cardinalities_of(row)

    async def warnings(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, predicates: Iterable[str]
    ) -> list[str]:
        """What an agent's ontology has to say of relations that were written."""
        known = await self.cardinalities(connection, scope, agent_id)
        return [f"{name} is no relation of the agent's ontology." for name in known.outside(predicates)]

    async def _named(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, said: Iterable[Sequence[Wanted]]
    ) -> dict[str, UUID]:
        spellings: defaultdict[str, set[str]] = defaultdict(set)
        for statement in (statement for each in said for statement in each):
            spellings[statement.subject_name].add(statement.subject)
            spellings[statement.object_name].add(statement.object)
        return await self._entities.named(connection, scope, agent_id, spellings)

    async def _write(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        mine: Sequence[Statement],
        new: Sequence[NewStatement],
        cardinalities: Cardinalities,
        *,
        at: datetime | None = None,
        from_: Mapping[UUID, datetime] | None = None,
    ) -> list[Closure]:
        """Settle the slots of statements that were changed or are new, and write what changed in them."""
        statements, facts = StatementRepository(connection, scope), FactRepository(connection, scope)
        # Of a relation of many values none ends another: there may be thousands, and they are left unread.
        days = _days(row for row in [*mine, *(statement.row for statement in new)] if cardinalities.one(row.predicate))
        for slot, moment in (from_ or {}).items():
            days[slot] = min(_day(moment), days.get(slot, _day(moment)))
        beside = {row.id: row for row in await statements.unended(agent_id, days)} if days else {}
        rows = [*{**beside, **{row.id: row for row in mine}}.values()]
        added = {statement.row.id for statement in new}
        changed = settle([*rows, *(statement.row for statement in new)], cardinalities)
        # With the memory, so that who asks for what was known when it was written finds what it states, too.
        now = max([at or datetime.now(UTC), *(row.updated_at + TICK for row in rows if row.updated_at is not None)])
        if held := [row for row in rows if row.held_until != row.held_before]:
            await statements.hold(agent_id, held)
        if new:
            await statements.insert(agent_id, new, now)
            await facts.add_words(agent_id, _words(new))
        closures = [row.closure for row in changed]
        if closures:
            await facts.close(agent_id, closures, [now] * len(closures))
        return [closure for closure in closures if closure.fact_id not in added]


def cardinalities_of(row: Mapping[str, Any] | None) -> Cardinalities:
    if row is None:
        return Cardinalities()
    verbs = {name: Cardinality(value) for name, value in row["verbs"].items()}
    return Cardinalities(verbs, {name: Cardinality(value) for name, value in row["attributes"].items()})


def _outdated(rows: Sequence[Statement]) -> bool:
    """Whether something newer ended what a memory says."""
    return any(row.standing and row.held_until is None and row.end.policy is ClosurePolicy.cardinality for row in rows)


def _said(memories: Sequence[Stating], cardinalities: Cardinalities) -> dict[UUID, list[Wanted]]:
    return {memory.id: wanted(memory, cardinalities) for memory in memories}


def _by_memory(rows: Iterable[Statement]) -> dict[UUID, list[Statement]]:
    found: defaultdict[UUID, list[Statement]] = defaultdict(list)
    for row in rows:
        found[row.memory_id].append(row)
    return dict(found)


def _day(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _days(rows: Iterable[Statement]) -> dict[UUID, datetime]:
    """By slot, the day on which the first of these starts."""
    days: dict[UUID, datetime] = {}
    for row in rows:
        day = _day(row.valid_from)
        days[row.slot] = min(day, days.get(row.slot, day))
    return days


def _words(new: Iterable[NewStatement]) -> set[tuple[UUID, UUID]]:
    found: set[tuple[UUID, UUID]] = set()
    for statement in new:
        user_id = statement.said.user_id
        for text in (statement.said.subject, statement.said.object):
            name = node_name(text)
            found.update((word_key(user_id, word), node_key(user_id, name)) for word in words_of(name))
    return found
