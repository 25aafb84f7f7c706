"""Use cases of memories: write, read, list, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.embeddings.base import Embedder
from engram.entities.service import EntityService
from engram.facts.statements.schemas import Relation
from engram.facts.statements.service import StatementService
from engram.facts.statements.stating import shown
from engram.memories.criteria import PastCriteria
from engram.memories.declared import check_declared
from engram.memories.deletion import Deletion
from engram.memories.embedding import embed
from engram.memories.listing import ListingRepository
from engram.memories.postings import Postings
from engram.memories.predicates import Visibility
from engram.memories.preparation import Prepared, hashes_of, prepare
from engram.memories.projections import Projector
from engram.memories.removal import Removal
from engram.memories.repository import MemoryRepository
from engram.memories.rows import Twin
from engram.memories.schemas import (
    BatchCreated,
    BatchResult,
    MemoriesDelete,
    MemoriesDeleted,
    MemoryBatch,
    MemoryCreate,
    MemoryCreated,
    MemoryDeleted,
    MemoryDetail,
    MemoryItem,
    MemoryPage,
    MemoryStatus,
)
from engram.memories.tuning import MemoryTuning
from engram.memories.writing import MemoryWriter
from engram.paging import decode_cursor, encode_cursor
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.telemetry.counting import memories_written
from engram.telemetry.stages import stage
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

_CURSOR: TypeAdapter[tuple[UUID]] = TypeAdapter(tuple[UUID])

ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Written:
    """What became of each item of a batch, in order: its id and whether it stood already."""

    results: list[tuple[UUID, bool]]
    linked: bool


class MemoryService:
    def __init__(
        self,
        database: TenantDatabase,
        embedder: Embedder,
        agents: AgentService,
        entities: EntityService,
        projector: Projector,
        writer: MemoryWriter,
        *,
        tuning: MemoryTuning,
        propose_names: bool = False,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._agents = agents
        self._entities = entities
        self._statements = StatementService(entities)
        self._removal = Removal(entities)
        self._deletion = Deletion(database, agents, self._removal)
        self._projector = projector
        self._writer = writer
        self._tuning = tuning
        self._propose_names = propose_names
        self._audit = Audit()

    async def create(self, scope: Scope, request: MemoryCreate) -> MemoryCreated:
        """Store a memory, or find it standing. Raises what the embedder raises; then nothing is stored."""
        for _ in range(ATTEMPTS):
            written = await self._write(scope, request.agent_id, [request], prefix="")
            (id, deduplicated), *_ = written.results
            memory = await self.created(
                scope, id, deduplicated=deduplicated, linked=written.linked, relations=request.relations
            )
            if deduplicated and memory.status is MemoryStatus.deleted:
                continue  # the one that stood is gone, and this text is nowhere
            return memory
        raise ConflictProblem(CONTESTED)

    async def created(
        self, scope: Scope, id: UUID, *, deduplicated: bool, linked: bool, relations: Sequence[Relation] = ()
    ) -> MemoryCreated:
        """A memory in any state, as it is shown to whoever wrote it, with these relations."""
        detail, chunks = await self._detail(scope, id)
        warnings = await self.ontology_warnings(scope, UUID(detail.agent_id), relations)
        return MemoryCreated(
            **detail.model_dump(),
            deduplicated=deduplicated,
            linked=linked,
            chunks=chunks,
            ontology_warnings=warnings,
        )

    async def state_again(self, scope: Scope, agent_id: UUID, ids: Sequence[UUID]) -> None:
        """Memories that stand are said again, in this order: what they say of relations with one value is what was said
        last."""
        async with self._database.transaction(scope) as connection:
            await self._agents.hold(connection, scope, agent_id)
            standing = await MemoryRepository(connection, scope).lock(agent_id, ids)
            said = [id for id in ids if id in standing]
            if await self._statements.state_again(connection, scope, agent_id, said):
                await self._audit.record(
                    connection, scope, Action.fact_restate, agent_id=agent_id, targets=said, details={}
                )

    async def ontology_warnings(self, scope: Scope, agent_id: UUID, relations: Iterable[Relation]) -> list[str]:
        """What the agent's ontology has to say of relations that were written."""
        predicates = {relation.predicate for relation in relations}
        if not predicates:
            return []
        async with self._database.snapshot(scope) as connection:
            return await self._statements.warnings(connection, scope, agent_id, predicates)

    async def create_many(self, scope: Scope, request: MemoryBatch) -> BatchCreated:
        """Store a batch, wholly or not at all; the answer says per item what became of it."""
        written = await self._write(scope, request.agent_id, request.items, prefix="items.{}.", in_bulk=True)
        deduplicated = sum(standing for _, standing in written.results)
        return BatchCreated(
            # Ours, and right by construction: to check a thousand of them would hold up the event loop.
            results=[
                BatchResult.model_construct(id=str(id), deduplicated=standing) for id, standing in written.results
            ],
            created=len(written.results) - deduplicated,
            deduplicated=deduplicated,
            linked=written.linked,
            ontology_warnings=await self.ontology_warnings(
                scope, UUID(request.agent_id), (relation for item in request.items for relation in item.relations)
            ),
        )

    async def get(self, scope: Scope, id: str, *, known_at: datetime | None = None) -> MemoryDetail:
        """A memory, as it is or as it was known at an instant, with the names that it has now.

        Raises NotFoundProblem for one that was deleted by then, or not written yet.
        """
        detail, _ = await self._detail(scope, UUID(id), known_at)
        if detail.status is MemoryStatus.deleted:
            raise memory_not_found(id)
        return detail

    async def list(
        self,
        scope: Scope,
        agent_id: str,
        criteria: PastCriteria,
        *,
        status: MemoryStatus | None,
        limit: int,
        cursor: str | None,
        include_total: bool,
    ) -> MemoryPage:
        """Memories, the latest to arrive first: of this status, or without one what held at the instant that is asked
        for; where none is, what is current."""
        if status is None and criteria.as_of is None:
            status = MemoryStatus.current
        visibility = Visibility.of(criteria, datetime.now(UTC), statuses=(status,) if status else None)
        after = decode_cursor(cursor, _CURSOR)[0] if cursor is not None else None
        await self._agents.get(scope, agent_id)
        async with self._database.snapshot(scope) as connection:
            memories = ListingRepository(connection, scope)
            page, more = await memories.page(UUID(agent_id), visibility, limit=limit, after=after)
            total = await memories.total(UUID(agent_id), visibility) if include_total else None
        return MemoryPage.model_validate(
            {
                "data": page,
                "next_cursor": encode_cursor(str(page[-1]["id"])) if more else None,
                "total": total,
            }
        )

    async def delete(self, scope: Scope, id: str, *, if_version: int | None = None) -> MemoryDeleted:
        """Take a memory out of every recall at once. The row stays, as a tombstone that can be restored.

        Raises NotFoundProblem where there is none, ConflictProblem where it is at another version than ``if_version``.
        """
        memory_id = UUID(id)
        async with self._database.transaction(scope) as connection:
            memories = MemoryRepository(connection, scope)
            agent_id = await memories.agent_of(memory_id)
            if agent_id is None:
                raise memory_not_found(id)
            await self._agents.hold(connection, scope, agent_id)
            deleted = await self._removal.delete_many(connection, scope, agent_id, [memory_id])
            if not deleted:
                raise memory_not_found(id)
            # What was deleted was that version, or nothing is.
            if if_version is not None and (version := await memories.version(agent_id, memory_id)) != if_version + 1:
                raise ConflictProblem(f"Memory {id} is at version {version - 1}, not {if_version}.")
            await self._audit.record(connection, scope, Action.memory_delete, agent_id=agent_id, targets=[memory_id])
        return MemoryDeleted(id=id, status=MemoryStatus.deleted)

    async def delete_many(self, scope: Scope, request: MemoriesDelete) -> MemoriesDeleted:
        """Delete what matches, or say what would be deleted."""
        return await self._deletion.run(scope, request)

    async def _detail(self, scope: Scope, id: UUID, known_at: datetime | None = None) -> tuple[MemoryDetail, int]:
        async with self._database.snapshot(scope) as connection:
            row = await MemoryRepository(connection, scope).get(id, known_at)
            if row is None:
                raise memory_not_found(id)
            row["relations"] = shown(row["relations"])
            row["entities"] = await self._entities.of_memory(connection, scope, row["agent_id"], id)
        return MemoryDetail.model_validate(row), row["chunks"]

    async def _write(
        self, scope: Scope, agent_id: str, items: Sequence[MemoryItem], *, prefix: str, in_bulk: bool = False
    ) -> Written:
        agent = await self._agents.get(scope, agent_id)
        now = datetime.now(UTC)
        for at, item in enumerate(items):
            check_window(item, now, prefix=prefix.format(at))
        await asyncio.to_thread(_check_declared, items, prefix)
        hashes = await asyncio.to_thread(hashes_of, items)
        for _ in range(ATTEMPTS):
            try:
                written = await self._attempt(
                    scope, UUID(agent.id), agent.language, items, hashes, prefix=prefix, in_bulk=in_bulk
                )
            except _TwinChanged:
                continue
            if again := _said_again(written, items):
                await self.state_again(scope, UUID(agent.id), again)
            return written
        raise ConflictProblem(CONTESTED)

    async def _attempt(
        self,
        scope: Scope,
        agent_id: UUID,
        language: str,
        items: Sequence[MemoryItem],
        hashes: Sequence[bytes],
        *,
        prefix: str,
        in_bulk: bool,
    ) -> Written:
        """Write what does not stand yet, all of it or nothing."""
        now = datetime.now(UTC)
        with stage("write.look"):
            async with self._database.snapshot(scope) as connection:
                twins = await MemoryRepository(connection, scope).twins(agent_id, hashes)
        # Said twice in one batch: the first stands for all.
        first = {value: at for at, value in reversed(list(enumerate(hashes)))}
        missing = sorted(at for value, at in first.items() if not _stands(twins.get(value), items[at], now))
        ended = [twins[hashes[at]].id for at in missing if hashes[at] in twins]
        with stage("write.embed"):
            embedded = await embed(
                self._embedder,
                [items[at] for at in missing],
                [prefix.format(at) for at in missing],
                passage_chars=self._tuning.passage_chars,
                in_bulk=in_bulk,
            )
        with stage("write.prepare"):
            prepared = await asyncio.to_thread(
                prepare,
                [items[at] for at in missing],
                [hashes[at] for at in missing],
                embedded,
                language,
                now,
                propose_names=self._propose_names,
                in_bulk=in_bulk,
            )
            postings = await asyncio.to_thread(Postings, prepared.terms)
        inserted: set[UUID] = set()
        if prepared.rows:
            with stage("write.store"):
                async with self._database.transaction(scope) as connection:
                    inserted = await self._store(connection, scope, agent_id, prepared, postings, ended, now)
                    twins = await MemoryRepository(connection, scope).twins(agent_id, hashes)
                    if not all(_stands(twins.get(value), items[at], now) for value, at in first.items()):
                        raise _TwinChanged
                    if prepared.declaration.stating:
                        await self._statements.restate(connection, scope, agent_id, inserted, at=now)
                    named = prepared.declaration.naming_several & inserted
                    await self._entities.recount(connection, scope, agent_id, named)
        memories_written(created=len(inserted), deduplicated=len(items) - len(inserted))
        linked = True
        if inserted:
            with stage("write.link"):
                linked = await self._projector.run(scope, agent_id, sorted(inserted))
        created = {at for at in first.values() if twins[hashes[at]].id in inserted}
        return Written([(twins[value].id, at not in created) for at, value in enumerate(hashes)], linked)

    async def _store(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        prepared: Prepared,
        postings: Postings,
        ended: Sequence[UUID],
        now: datetime,
    ) -> set[UUID]:
        await self._agents.hold(connection, scope, agent_id)
        if ended:
            await MemoryRepository(connection, scope).release_ended(agent_id, ended, now)
        inserted = await self._writer.insert(connection, scope, agent_id, prepared, postings, now)
        if inserted:
            await self._audit.record(
                connection, scope, Action.memory_create, agent_id=agent_id, targets=sorted(inserted)
            )
        return inserted


class _TwinChanged(Exception):
    """A memory that stood for one to be written was deleted, or one that does not stand for it came, before the write
    was done: nothing was written."""


def _said_again(written: Written, items: Sequence[MemoryItem]) -> list[UUID]:
    """Memories that stood already and are said to hold now, in the order in which they were said last."""
    again: dict[UUID, None] = {}
    for (id, standing), item in zip(written.results, items, strict=True):
        if standing and item.relations and item.valid_from is None:
            again.pop(id, None)
            again[id] = None
    return list(again)


def _check_declared(items: Sequence[MemoryItem], prefix: str) -> None:
    for at, item in enumerate(items):
        check_declared(item, prefix=prefix.format(at))


CONTESTED = "The same memories are being written and deleted at once; try again."


def _stands(twin: Twin | None, item: MemoryItem, now: datetime) -> bool:
    """Whether a twin stands for an item. One that has ended does so only for an item that has ended too: said again
    it holds again, but an import can be repeated."""
    if twin is None or twin.valid_until is None or twin.valid_until > now:
        return twin is not None
    return item.valid_until is not None and item.valid_until <= now


def check_window(item: MemoryItem, now: datetime, *, prefix: str = "") -> None:
    """Raises InvalidInputProblem, naming the field behind ``prefix``, for an end before the beginning, which is now
    where none is given."""
    if item.valid_until is not None and item.valid_from is None and item.valid_until <= now:
        raise InvalidInputProblem.of(f"{prefix}valid_until", "must be later than valid_from, which is now by default")


def memory_not_found(id: object) -> NotFoundProblem:
    return NotFoundProblem(f"There is no memory {id}.")
