"""Putting a value where it belongs among those of its slot: the steps that setting and restoring share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.memories.changes.edges import Succession, SupersessionEdges
from engram.memories.changes.order import closed
from engram.memories.changes.repository import ChangeRepository
from engram.memories.changes.rows import Place, Standing, after
from engram.tenants.scope import Scope


@dataclass(frozen=True, slots=True)
class Between:
    """What comes before and after a moment, locked; None where there is nothing. ``held`` are others of the slot that
    held in earlier periods which reach beyond it."""

    before: Standing | None
    after: Standing | None
    held: Sequence[Standing] = ()

    @property
    def ids(self) -> set[UUID]:
        """All of these."""
        return {memory.id for memory in (self.before, self.after, *self.held) if memory is not None}

    def changed_at(self, clock: datetime, *others: Standing | None) -> datetime:
        """A moment at which all of these may be changed."""
        return after(clock, self.before, self.after, *self.held, *others)


class Successions:
    """In a transaction that holds the agent, and the slot where there is one."""

    def __init__(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, edges: SupersessionEdges) -> None:
        self._connection = connection
        self._scope = scope
        self._agent_id = agent_id
        self._changes = ChangeRepository(connection, scope)
        self._edges = edges

    async def around(
        self, slot_hash: bytes, begins: datetime, *, but: UUID | None = None
    ) -> tuple[Between, Standing | None]:
        """The values of a slot around a moment, and the value ``but`` that is to be placed there, all locked at once.

        A value may be deleted meanwhile by someone who needs no slot for it: then is looked again.
        """
        while True:
            ids = await self._changes.neighbours(self._agent_id, slot_hash, begins, but=but)
            held = [id for id in await self._changes.held_after(self._agent_id, slot_hash, begins) if id != but]
            wanted = {*held, *(id for id in (*ids, but) if id is not None)}
            locked = await self._changes.lock(self._agent_id, sorted(wanted))
            found = [locked.get(id) if id is not None else None for id in ids]
            gone = [id for id, row in zip(ids, found, strict=True) if id is not None and (row is None or row.deleted)]
            if not gone:
                others = [locked[id] for id in held if id in locked]
                return Between(found[0], found[1], others), locked.get(but) if but is not None else None

    async def place(
        self,
        id: UUID,
        begins: datetime,
        between: Between,
        *,
        moved: Sequence[Place] = (),
        ended_by: str,
        now: datetime,
    ) -> None:
        """Close what comes before the value ``id``, which begins then, and place what else is moved."""
        places = [*moved]
        if between.before is not None:
            places.append(closed(between.before, begins, id))
        if places:
            await self._changes.place(self._agent_id, places, ended_by=ended_by, now=now)

    async def cut(
        self, between: Between, begins: datetime, ends: datetime | None, *, ended_by: str, now: datetime
    ) -> None:
        """Take the period in which a value holds out of what others of its slot held in earlier."""
        if between.held:
            ids = [memory.id for memory in between.held]
            await self._changes.cut(self._agent_id, ids, begins, ends, ended_by=ended_by, now=now)

    async def draw(self, id: UUID, begins: datetime, between: Between, *, now: datetime) -> None:
        """The edges from the value ``id`` to what it follows, and to it from what follows it."""
        before, after = between.before, between.after
        drawn: list[Succession] = []
        if before is not None:
            if before.superseded_by is not None and before.superseded_by != id:
                await self.close((before.superseded_by, before.id, begins), now=now)
            drawn.append((id, before.id, begins))
        if after is not None:
            drawn.append((after.id, id, after.valid_from))
        if drawn:
            await self._edges.draw(self._connection, self._scope, self._agent_id, drawn, now)

    async def close(self, pair: Succession, *, now: datetime) -> None:
        """End an edge from what took a value's place, and does not any more."""
        await self._edges.close(self._connection, self._scope, self._agent_id, [pair], now)
