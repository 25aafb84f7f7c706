"""Setting a key, and superseding a memory by another."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.memories.changes.edges import SupersessionEdges
from engram.memories.changes.order import ends
from engram.memories.changes.repository import ChangeRepository
from engram.memories.changes.rows import Standing, after
from engram.memories.changes.schemas import MemorySet
from engram.memories.changes.succession import Between, Successions
from engram.memories.changes.writing import Writing
from engram.memories.declared import check_declared
from engram.memories.dedup import dedup_hash, slot_hash
from engram.memories.postings import Postings
from engram.memories.preparation import Prepared, Slot, prepare
from engram.memories.repository import MemoryRepository
from engram.memories.rows import NewMemory
from engram.memories.schemas import MemoryCreated, MemoryItem
from engram.memories.service import ATTEMPTS, CONTESTED, check_window, memory_not_found
from engram.problems import ConflictProblem, InvalidInputProblem
from engram.telemetry.counting import memories_written
from engram.telemetry.stages import stage
from engram.tenants.scope import Scope
from engram.text.normal import normal


@dataclass(frozen=True, slots=True)
class _Value:
    """What is to be written, and where: its key's slot, or None for the place of a memory that has no key."""

    agent_id: UUID
    language: str
    item: MemoryItem
    slot: Slot | None
    replaces: UUID | None


class SettingService:
    """Writes memories that take the place of others."""

    def __init__(self, writing: Writing, edges: SupersessionEdges) -> None:
        self._writing = writing
        self._edges = edges
        self._audit = Audit()

    async def set(self, scope: Scope, request: MemorySet) -> MemoryCreated:
        """Give a key a value, from ``valid_from`` on, or from now.

        Values are ordered by when they begin, then by arrival; each holds until the next begins. One that begins before
        the latest is put between its neighbours, and is superseded as it comes. The text that holds there already, and
        began then where the request says when, is not written again.

        Raises NotFoundProblem for an unknown agent, and what the embedder raises; then nothing is stored.
        """
        agent = await self._writing.agents.get(scope, request.agent_id)
        slot = Slot(request.key, slot_hash(request.key, user_id=request.user_id, session_id=request.session_id))
        await asyncio.to_thread(check_declared, request)
        standing = await self._standing(scope, UUID(agent.id), slot, request)
        if standing is not None:
            await self._state_again(scope, UUID(agent.id), standing, request)
            return await self._writing.memories.created(
                scope, standing, deduplicated=True, linked=True, relations=request.relations
            )
        return await self._write(scope, _Value(UUID(agent.id), agent.language, request, slot, None))

    async def supersede(self, scope: Scope, memory_id: str, item: MemoryItem) -> MemoryCreated:
        """Put another memory in a memory's place, from its ``valid_from`` on, or from now.

        Of a key's value that is setting the key. Raises NotFoundProblem where there is no such memory, ConflictProblem
        where another took its place already, and InvalidInputProblem where the new one would begin before it.
        """
        async with self._writing.database.snapshot(scope) as connection:
            memory = await ChangeRepository(connection, scope).find(UUID(memory_id))
            if memory is None or memory.deleted:
                raise memory_not_found(memory_id)
            language = await self._writing.agents.language(connection, scope, memory.agent_id)
        _check_superseding(memory, item)
        await asyncio.to_thread(check_declared, item)
        item = item.model_copy(update={"user_id": memory.user_id, "session_id": memory.session_id})
        slot = Slot(memory.key, memory.slot_hash) if memory.key is not None and memory.slot_hash is not None else None
        return await self._write(scope, _Value(memory.agent_id, language or "", item, slot, memory.id))

    async def _state_again(self, scope: Scope, agent_id: UUID, id: UUID, item: MemoryItem) -> None:
        if item.relations and item.valid_from is None:
            await self._writing.memories.state_again(scope, agent_id, [id])

    async def _standing(self, scope: Scope, agent_id: UUID, slot: Slot, item: MemoryItem) -> UUID | None:
        """The value that holds already and says what is to be set: nothing need be embedded for that."""
        begins = item.valid_from or datetime.now(UTC)
        async with self._writing.database.snapshot(scope) as connection:
            changes = ChangeRepository(connection, scope)
            id, _ = await changes.neighbours(agent_id, slot.hash, begins)
            memory = await changes.find(id) if id is not None else None
        return memory.id if memory is not None and _says_the_same(memory, item, begins) else None

    async def _write(self, scope: Scope, value: _Value) -> MemoryCreated:
        check_window(value.item, datetime.now(UTC))
        with stage("write.embed"):
            embedded = [await self._writing.embedded(value.item)]
        for _ in range(ATTEMPTS):
            now = datetime.now(UTC)
            prepared = await asyncio.to_thread(
                prepare,
                [value.item],
                [_hash(value)],
                embedded,
                value.language,
                now,
                propose_names=self._writing.propose_names,
                slot=value.slot,
            )
            postings = await asyncio.to_thread(Postings, prepared.terms)
            try:
                with stage("write.store"):
                    async with self._writing.database.transaction(scope) as connection:
                        await self._writing.agents.hold(connection, scope, value.agent_id)
                        await self._writing.entities.hold_vectors(connection, scope, value.agent_id)
                        if value.slot is not None:
                            id, created = await self._set(connection, scope, value, value.slot, prepared, postings)
                        else:
                            id, created = await self._supersede(connection, scope, value, prepared, postings)
            except _Overtaken:
                continue
            memories_written(created=int(created), deduplicated=int(not created))
            if not created:
                await self._state_again(scope, value.agent_id, id, value.item)
            linked = True
            if created:
                with stage("write.link"):
                    linked = await self._writing.projector.run(scope, value.agent_id, [id])
            return await self._writing.memories.created(
                scope, id, deduplicated=not created, linked=linked, relations=value.item.relations
            )
        raise ConflictProblem(CONTESTED)

    async def _set(
        self,
        connection: AsyncConnection,
        scope: Scope,
        value: _Value,
        slot: Slot,
        prepared: Prepared,
        postings: Postings,
    ) -> tuple[UUID, bool]:
        changes = ChangeRepository(connection, scope)
        successions = Successions(connection, scope, value.agent_id, self._edges)
        # Under the lock, so that of two that are not dated the later to arrive begins later.
        now = await changes.lock_slot(value.agent_id, slot.hash)
        begins = value.item.valid_from or now
        between, _ = await successions.around(slot.hash, begins)
        if value.replaces is not None and (between.before is None or between.before.id != value.replaces):
            raise ConflictProblem(_taken(value.replaces, between.before or between.after))
        if between.before is not None and _says_the_same(between.before, value.item, begins):
            return between.before.id, False
        now = between.changed_at(now)
        row = _begun(prepared, value.item, begins)
        if between.after is not None:
            row = replace(row, superseded_by=between.after.id, ends_early=between.after.valid_from)
        await successions.place(row.id, begins, between, ended_by="set", now=now)
        await self._writing.entities.forget_vectors(connection, scope, value.agent_id, between.ids)
        await self._insert(connection, scope, value, replace(prepared, rows=[row]), postings, now)
        until = ends(value.item.valid_until, begins, between.after)
        await successions.cut(between, begins, until, ended_by="set", now=now)
        await successions.draw(row.id, begins, between, now=now)
        await self._writing.statements.restate(connection, scope, value.agent_id, {row.id, *between.ids}, at=now)
        await self._writing.entities.recount(connection, scope, value.agent_id, {row.id, *between.ids})
        await self._note(connection, scope, Action.memory_set, value.agent_id, row.id, between)
        return row.id, True

    async def _supersede(
        self, connection: AsyncConnection, scope: Scope, value: _Value, prepared: Prepared, postings: Postings
    ) -> tuple[UUID, bool]:
        assert value.replaces is not None
        changes = ChangeRepository(connection, scope)
        successions = Successions(connection, scope, value.agent_id, self._edges)
        dedup = prepared.rows[0].dedup_hash
        twin = await self._twin(connection, scope, value.agent_id, dedup)
        locked = await changes.lock(value.agent_id, sorted({value.replaces, *([twin] if twin is not None else [])}))
        memory = locked.get(value.replaces)
        if memory is None or memory.deleted:
            raise memory_not_found(value.replaces)
        _check_superseding(memory, value.item)
        now = after(datetime.now(UTC), memory)
        begins = value.item.valid_from or now
        if _says_the_same(memory, value.item, begins):
            return memory.id, False
        between = Between(memory, None)
        row = _begun(prepared, value.item, begins)
        id = row.id
        if twin is not None and twin != memory.id:
            standing = locked.get(twin)
            if standing is None or not standing.current or standing.dedup_hash != dedup:
                raise _Overtaken
            # One with the same text that stands already takes the place, but for one that has ended.
            if standing.valid_until is None or standing.valid_until > begins:
                id, begins = twin, max(begins, standing.valid_from)
            else:
                await MemoryRepository(connection, scope).release_ended(value.agent_id, [twin], begins)
        await successions.place(id, begins, between, ended_by="supersede", now=now)
        await self._writing.entities.forget_vectors(connection, scope, value.agent_id, between.ids)
        if id == row.id and not await self._insert(
            connection, scope, value, replace(prepared, rows=[row]), postings, now
        ):
            raise _Overtaken
        await successions.draw(id, begins, between, now=now)
        await self._writing.statements.restate(connection, scope, value.agent_id, {id, *between.ids}, at=now)
        await self._writing.entities.recount(connection, scope, value.agent_id, {id, *between.ids})
        await self._note(connection, scope, Action.memory_supersede, value.agent_id, id, between)
        return id, id == row.id

    async def _twin(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, dedup: bytes | None
    ) -> UUID | None:
        assert dedup is not None  # it has no key
        twins = await MemoryRepository(connection, scope).twins(agent_id, [dedup])
        return twins[dedup].id if twins else None

    async def _insert(
        self,
        connection: AsyncConnection,
        scope: Scope,
        value: _Value,
        prepared: Prepared,
        postings: Postings,
        now: datetime,
    ) -> Set[UUID]:
        return await self._writing.writer.insert(connection, scope, value.agent_id, prepared, postings, now)

    async def _note(
        self, connection: AsyncConnection, scope: Scope, action: Action, agent_id: UUID, id: UUID, between: Between
    ) -> None:
        replaced = [] if between.before is None else [between.before.id]
        await self._audit.record(connection, scope, action, agent_id=agent_id, targets=[id, *replaced])


class _Overtaken(Exception):
    """What was prepared does not fit any more: it is done anew.

    A value was prepared for one day and begins on the next, whose date is among its terms; or another with the same
    text was written meanwhile.
    """


def _begun(prepared: Prepared, item: MemoryItem, begins: datetime) -> NewMemory:
    (row,) = prepared.rows
    if item.valid_from is None and row.valid_from.date() != begins.date():
        raise _Overtaken
    return replace(row, valid_from=begins)


def _says_the_same(memory: Standing, item: MemoryItem, begins: datetime) -> bool:
    """Whether a memory holds at that moment, and says what ``item`` does: then there is nothing to write."""
    if item.valid_from is not None and item.valid_from != memory.valid_from:
        return False
    holds = memory.valid_until is None or memory.valid_until > begins
    return holds and normal("NFC", memory.content) == normal("NFC", item.content)


def _hash(value: _Value) -> bytes | None:
    """Of what has a key none: its slot tells it apart."""
    item = value.item
    if value.slot is not None:
        return None
    return dedup_hash(item.content, user_id=item.user_id, session_id=item.session_id, valid_from=item.valid_from)


def _check_superseding(memory: Standing, item: MemoryItem) -> None:
    for field in ("user_id", "session_id"):
        given = getattr(item, field)
        if given is not None and given != getattr(memory, field):
            raise InvalidInputProblem.of(field, "is that of the memory whose place is taken, and need not be given")
    if memory.superseded_by is not None:
        raise ConflictProblem(f"Memory {memory.id} was superseded already, by {memory.superseded_by}.")
    if item.valid_from is not None and item.valid_from < memory.valid_from:
        raise InvalidInputProblem.of("valid_from", f"must not be before that of {memory.id}, {memory.valid_from}")


def _taken(id: UUID, by: Standing | None) -> str:
    if by is not None and by.id == id:
        begins = by.valid_from.isoformat().replace("+00:00", "Z")
        return f"Memory {id} does not hold before {begins}: give a valid_from of then or later."
    return f"Memory {id} does not hold there any more" + (f": {by.id} does." if by is not None else ".")
