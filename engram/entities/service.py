"""Use cases of entities that other domains call inside their own transactions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.entities.declaration import Declaration
from engram.entities.occurring.repository import Changes, OccurrenceRepository
from engram.entities.repository import EntityRepository, Mention
from engram.entities.vectors.service import EntityVectors
from engram.tenants.scope import Scope


class EntityService:
    def __init__(self, vectors: EntityVectors | None = None) -> None:
        self._vectors = vectors or EntityVectors(made=False)

    async def declare(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, declaration: Declaration
    ) -> None:
        """Write the entities and mentions that new memories declare, in the memories' own transaction."""
        if not declaration.spellings:
            return
        entities = EntityRepository(connection, scope)
        offered = {name: uuid7() for name in sorted(declaration.spellings)}
        ids = await entities.ensure(agent_id, declaration.spellings, offered)
        declared = [
            Mention(memory_id, ids[name], is_subject=is_subject, recognized=False)
            for (memory_id, name), is_subject in declaration.roles.items()
        ]
        proposed = [
            Mention(memory_id, ids[name], is_subject=False, recognized=True) for memory_id, name in declaration.proposed
        ]
        await entities.add_mentions(agent_id, declared + proposed)

    async def named(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, spellings: Mapping[str, Set[str]]
    ) -> dict[str, UUID]:
        """The entities of these canonical names, which come with their spellings; those that there are not are made.

        Whoever makes some in a transaction that writes memories makes them with what those declare.
        """
        entities = EntityRepository(connection, scope)
        known = {row["name"]: row["id"] for row in await entities.by_names(agent_id, sorted(spellings))}
        missing = {name: set(spelt) for name, spelt in spellings.items() if name not in known}
        if missing:
            known |= await entities.ensure(agent_id, missing, {name: uuid7() for name in sorted(missing)})
        return known

    async def forget(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]
    ) -> None:
        """Take the mentions of memories away. Their entities stay: others may name them. As with ``forget_vectors``
        the caller began with ``hold_vectors``."""
        await self.forget_vectors(connection, scope, agent_id, memory_ids, going=memory_ids)
        await EntityRepository(connection, scope).remove_mentions(agent_id, memory_ids)

    async def hold_vectors(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> None:
        """Begin what will take away vectors of entities: right after the agent is held."""
        await self._vectors.hold(connection, scope, agent_id)

    async def forget_vectors(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        memory_ids: Collection[UUID],
        *,
        going: Collection[UUID] = (),
    ) -> None:
        """Take away the vectors of entities that were made of what these memories say; ``going`` are those that the
        caller erases after this.

        Whoever changes when a memory holds or what it says, or erases it, calls this or ``forget`` in the same
        transaction, in which the memories are locked, and which began with ``hold_vectors``.
        """
        if memory_ids:
            await self._vectors.forget(connection, scope, agent_id, sorted(memory_ids), going=going)

    async def recount(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_ids: Collection[UUID]
    ) -> None:
        """Let what occurs together follow from what these memories name, and from when they hold, by now.

        Whoever changes either calls this in the same transaction, in which the memories are locked, as its last
        write: what many writers count under is then held for a moment only.
        """
        if memory_ids:
            await OccurrenceRepository(connection, scope).recount(agent_id, memory_ids)

    async def observe(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_ids: Collection[UUID]
    ) -> Changes:
        """As ``recount``, without the counting: for one who locks more before ``count``."""
        return await OccurrenceRepository(connection, scope).observe(agent_id, memory_ids)

    async def count(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, changes: Changes, *, gone: Collection[UUID]
    ) -> None:
        """Count what was observed; ``gone`` are entities that were erased since."""
        await OccurrenceRepository(connection, scope).add(agent_id, changes, gone=gone)

    async def of_memory(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID
    ) -> list[dict[str, object]]:
        found = await EntityRepository(connection, scope).of_memories(agent_id, [memory_id])
        return found[memory_id]
