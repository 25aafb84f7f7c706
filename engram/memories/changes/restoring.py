"""Taking a deletion or a supersession back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from asyncpg import UniqueViolationError
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.memories.changes.edges import SupersessionEdges
from engram.memories.changes.order import placed, undeleted
from engram.memories.changes.reindexing import Indexed, Reindexing, indexed
from engram.memories.changes.repository import ChangeRepository
from engram.memories.changes.revising import SAID_ALREADY
from engram.memories.changes.rows import Standing, after
from engram.memories.changes.succession import Between, Successions
from engram.memories.changes.writing import Writing
from engram.memories.schemas import MemoryDetail
from engram.memories.service import ATTEMPTS, CONTESTED, memory_not_found
from engram.problems import ConflictProblem, NotFoundProblem
from engram.tenants.scope import Scope


@dataclass(frozen=True, slots=True)
class _Read:
    """A memory as it was read, and what it will be found by from ``begins`` on."""

    memory: Standing
    begins: datetime
    found_by: Indexed


class RestorationService:
    def __init__(
        self, writing: Writing, reindexing: Reindexing, edges: SupersessionEdges, *, recovery: timedelta
    ) -> None:
        """``recovery`` is how long what was deleted can be restored."""
        self._writing = writing
        self._reindexing = reindexing
        self._edges = edges
        self._recovery = recovery
        self._audit = Audit()

    async def restore(self, scope: Scope, memory_id: str) -> MemoryDetail:
        """Make a superseded or deleted memory current again; one that is current stays as it is.

        What was superseded holds from now on, or from its own later start, until what is dated later; what had taken
        its place ends there. What was only deleted holds as it did.

        Raises NotFoundProblem where there is no such memory, or it was deleted too long ago; ConflictProblem where
        another memory says the same by now.
        """
        id = UUID(memory_id)
        begins: datetime | None = None
        for _ in range(ATTEMPTS):
            read = await self._read(scope, id, begins)
            if read is None:
                return await self._current(scope, id)
            try:
                async with self._writing.database.transaction(scope) as connection:
                    await self._restore(connection, scope, read)
            except UniqueViolationError:
                raise ConflictProblem(SAID_ALREADY) from None
            except _Otherwise as otherwise:
                begins = otherwise.begins
                continue
            await self._writing.projector.run(scope, read.memory.agent_id, [id], changed=True)
            return await self._writing.memories.get(scope, memory_id)
        raise ConflictProblem(CONTESTED)

    async def _current(self, scope: Scope, id: UUID) -> MemoryDetail:
        """What is current stays as it is; what it says holds again, where something newer had ended that."""
        memory = await self._writing.memories.get(scope, str(id))
        if memory.relations:
            await self._writing.memories.state_again(scope, UUID(memory.agent_id), [id])
        return memory

    async def _read(self, scope: Scope, id: UUID, begins: datetime | None) -> _Read | None:
        """None where there is nothing to restore. ``begins`` is when it will hold again, where that is known."""
        async with self._writing.database.snapshot(scope) as connection:
            memory = await ChangeRepository(connection, scope).find(id)
            if memory is None:
                raise memory_not_found(id)
            language = await self._writing.agents.language(connection, scope, memory.agent_id) or ""
        if memory.current:
            return None
        now = datetime.now(UTC)
        if memory.deleted_at is not None and memory.deleted_at + self._recovery <= now:
            raise NotFoundProblem(
                f"Memory {id} was deleted at {memory.deleted_at.isoformat()}; it could be restored for"
                f" {self._recovery.days} days."
            )
        if begins is None:
            begins = memory.valid_from if memory.superseded_by is None else max(memory.valid_from, now)
        found_by = await asyncio.to_thread(
            indexed,
            id,
            memory.content,
            declared=memory.declared_entities,
            relations=memory.declared_relations,
            quantities=memory.declared_quantities,
            sensitivity=memory.sensitivity,
            withheld=memory.withheld,
            session_id=memory.session_id,
            valid_from=begins,
            language=language,
            # They stayed: restoring needs no embedder.
            passages=None,
            propose_names=self._writing.propose_names,
        )
        return _Read(memory, begins, found_by)

    async def _restore(self, connection: AsyncConnection, scope: Scope, read: _Read) -> None:
        agent_id, id, slot = read.memory.agent_id, read.memory.id, read.memory.slot_hash
        changes = ChangeRepository(connection, scope)
        successions = Successions(connection, scope, agent_id, self._edges)
        await self._writing.agents.hold(connection, scope, agent_id)
        await self._writing.entities.hold_vectors(connection, scope, agent_id)
        # Time is taken under the locks, or something might begin later than what was there before.
        if slot is not None:
            now = await changes.lock_slot(agent_id, slot)
            between, memory = await successions.around(slot, max(read.memory.valid_from, now), but=id)
        else:
            standing, memory = await _line(changes, read.memory)
            now = after(datetime.now(UTC), memory, standing)
            between = _beside(standing, max(read.memory.valid_from, now))
        if memory is None or memory.version != read.memory.version:
            raise _Otherwise(None)
        undone = memory.superseded_by is None and between.before is None and between.after is None
        if undone and slot is not None:
            undone = not await changes.held_beside(agent_id, memory)
        begins = memory.valid_from if undone else max(memory.valid_from, now)
        now = between.changed_at(now, memory)
        if begins.date() != read.begins.date():
            raise _Otherwise(begins)
        place = undeleted(memory) if undone else placed(memory, begins, between.after)
        await successions.place(id, begins, between, moved=[place], ended_by="restore", now=now)
        await self._writing.entities.forget_vectors(connection, scope, agent_id, between.ids)
        if slot is not None:
            await changes.trim(agent_id, slot, id)
            await successions.cut(between, begins, place.valid_until, ended_by="restore", now=now)
        if not undone:
            if memory.superseded_by is not None:
                await successions.close((memory.superseded_by, id, begins), now=now)
            await successions.draw(id, begins, between, now=now)
        await self._reindexing.replace(connection, scope, agent_id, id, read.found_by, standing=not memory.deleted)
        await self._writing.writer.owe(connection, scope, agent_id, [id], now, changed=True)
        await self._writing.statements.restate(
            connection, scope, agent_id, {id, *between.ids}, at=now, restored={id: now if undone else min(begins, now)}
        )
        await self._writing.entities.recount(connection, scope, agent_id, {id, *between.ids})
        replaced = [between.before.id] if between.before is not None else []
        await self._audit.record(connection, scope, Action.memory_restore, agent_id=agent_id, targets=[id, *replaced])


class _Otherwise(Exception):
    """What was read does not fit any more: the memory was changed, or begins on another day, whose date is among its
    terms. ``begins`` is when it would."""

    def __init__(self, begins: datetime | None) -> None:
        super().__init__()
        self.begins = begins


async def _line(changes: ChangeRepository, memory: Standing) -> tuple[Standing | None, Standing | None]:
    """What took the place of a memory without a key, the last of a line, and the memory, locked."""
    last = memory.id
    if memory.superseded_by is not None:
        last = await changes.end_of_line(memory.agent_id, memory.id)
    locked = await changes.lock(memory.agent_id, sorted({last, memory.id}))
    standing = locked.get(last)
    gone = standing is None or standing.deleted or last == memory.id
    return None if gone else standing, locked.get(memory.id)


def _beside(standing: Standing | None, begins: datetime) -> Between:
    if standing is None or standing.valid_from <= begins:
        return Between(standing, None)
    return Between(None, standing)
