"""Use cases of memories: write, read, list, delete."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.agents.service import AgentService
from engram.db.database import Database
from engram.embeddings.base import Embedder, Vectors
from engram.entities.declaration import Declaration, declare
from engram.entities.proposals import proposed_names
from engram.entities.service import EntityService
from engram.memories.dedup import dedup_hash
from engram.memories.pending import PendingRepository
from engram.memories.projections import Projector
from engram.memories.repository import MemoryRepository
from engram.memories.rows import Listing, NewMemory
from engram.memories.schemas import (
    BatchCreated,
    BatchResult,
    EntityRole,
    MemoryBatch,
    MemoryCreate,
    MemoryCreated,
    MemoryDeleted,
    MemoryDetail,
    MemoryItem,
    MemoryPage,
    MemoryStatus,
)
from engram.memories.vectors import VectorIndex
from engram.paging import decode_cursor, encode_cursor
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words
from engram.text.terms import analyzer_for

_CURSOR: TypeAdapter[tuple[UUID]] = TypeAdapter(tuple[UUID])

PROJECTION_GRACE = timedelta(minutes=5)
"""How long the request that wrote a memory has to make its links before the retry takes over."""

ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Written:
    """What became of each item of a batch, in order: its id and whether it stood already."""

    results: list[tuple[UUID, bool]]
    linked: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about new memories that can be known before a transaction: rows, words, declared names."""

    rows: list[NewMemory]
    terms: dict[UUID, Counter[str]]
    declaration: Declaration


class MemoryService:
    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        index: VectorIndex,
        agents: AgentService,
        entities: EntityService,
        projector: Projector,
        *,
        propose_names: bool = False,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._index = index
        self._agents = agents
        self._entities = entities
        self._projector = projector
        self._propose_names = propose_names

    async def create(self, scope: Scope, request: MemoryCreate) -> MemoryCreated:
        """Store a memory, or find it standing. Raises what the embedder raises; then nothing is stored."""
        written = await self._write(scope, request.agent_id, [request], prefix="")
        (id, deduplicated), *_ = written.results
        detail, chunks = await self._detail(scope, id)
        return MemoryCreated(**detail.model_dump(), deduplicated=deduplicated, linked=written.linked, chunks=chunks)

    async def create_many(self, scope: Scope, request: MemoryBatch) -> BatchCreated:
        """Store a batch, wholly or not at all; the answer says per item what became of it."""
        written = await self._write(scope, request.agent_id, request.items, prefix="items.{}.")
        deduplicated = sum(standing for _, standing in written.results)
        return BatchCreated(
            results=[BatchResult(id=str(id), deduplicated=standing) for id, standing in written.results],
            created=len(written.results) - deduplicated,
            deduplicated=deduplicated,
            linked=written.linked,
        )

    async def get(self, scope: Scope, id: str) -> MemoryDetail:
        detail, _ = await self._detail(scope, UUID(id))
        return detail

    async def list(
        self,
        scope: Scope,
        agent_id: str,
        listing: Listing,
        *,
        limit: int,
        cursor: str | None,
        include_total: bool,
    ) -> MemoryPage:
        """Memories, the latest to arrive first."""
        after = decode_cursor(cursor, _CURSOR)[0] if cursor is not None else None
        await self._agents.get(scope, agent_id)
        async with self._database.snapshot() as connection:
            memories = MemoryRepository(connection, scope)
            rows = await memories.page(UUID(agent_id), listing, limit=limit + 1, after=after)
            total = await memories.total(UUID(agent_id), listing) if include_total else None
        page = rows[:limit]
        more = len(rows) > limit
        return MemoryPage.model_validate(
            {
                "data": page,
                "next_cursor": encode_cursor(str(page[-1]["id"])) if more else None,
                "total": total,
            }
        )

    async def delete(self, scope: Scope, id: str) -> MemoryDeleted:
        """Take a memory out of every recall at once. The row stays, as a tombstone."""
        memory_id = UUID(id)
        async with self._database.transaction() as connection:
            memories = MemoryRepository(connection, scope)
            agent_id = await memories.delete(memory_id, datetime.now(UTC))
            if agent_id is None:
                raise _not_found(id)
            await memories.remove_terms(agent_id, memory_id)
            await self._entities.forget(connection, scope, agent_id, memory_id)
        return MemoryDeleted(id=id, status=MemoryStatus.deleted)

    async def pending(self) -> int:
        """How many memories wait for their links."""
        async with self._database.snapshot() as connection:
            return await PendingRepository(connection).count()

    async def _detail(self, scope: Scope, id: UUID) -> tuple[MemoryDetail, int]:
        async with self._database.snapshot() as connection:
            row = await MemoryRepository(connection, scope).get(id)
            if row is None:
                raise _not_found(id)
            row["entities"] = await self._entities.of_memory(connection, scope, row["agent_id"], id)
        return MemoryDetail.model_validate(row), row["chunks"]

    async def _write(self, scope: Scope, agent_id: str, items: Sequence[MemoryItem], *, prefix: str) -> Written:
        agent = await self._agents.get(scope, agent_id)
        now = datetime.now(UTC)
        for at, item in enumerate(items):
            if item.valid_until is not None and item.valid_from is None and item.valid_until <= now:
                raise InvalidInputProblem.of(
                    f"{prefix.format(at)}valid_until", "must be later than valid_from, which is now by default"
                )
        hashes = await asyncio.to_thread(_hashes, items)
        for _ in range(ATTEMPTS):
            written = await self._attempt(scope, UUID(agent.id), agent.language, items, hashes, prefix=prefix)
            if written is not None:
                return written
        raise ConflictProblem("The same memories are being written and deleted at once; try again.")

    async def _attempt(
        self,
        scope: Scope,
        agent_id: UUID,
        language: str,
        items: Sequence[MemoryItem],
        hashes: Sequence[bytes],
        *,
        prefix: str,
    ) -> Written | None:
        """Write what does not stand yet. None where a twin stood and was gone when it was looked at again."""
        async with self._database.snapshot() as connection:
            standing = await MemoryRepository(connection, scope).standing(agent_id, hashes)
        # Said twice in one batch: the first stands for all.
        first = {value: at for at, value in reversed(list(enumerate(hashes)))}
        missing = [at for value, at in first.items() if value not in standing]
        missing.sort()
        embedded = await self._embed([items[at] for at in missing], [prefix.format(at) for at in missing])
        now = datetime.now(UTC)
        prepared = await asyncio.to_thread(
            _prepare,
            [items[at] for at in missing],
            [hashes[at] for at in missing],
            embedded,
            language,
            now,
            propose_names=self._propose_names,
        )
        inserted: set[UUID] = set()
        if prepared.rows:
            async with self._database.transaction() as connection:
                inserted = await self._store(connection, scope, agent_id, prepared, now)
                standing = await MemoryRepository(connection, scope).standing(agent_id, hashes)
            if any(value not in standing for value in hashes):
                return None
        linked = not inserted or await self._projector.run(scope, agent_id, sorted(inserted))
        created = {at for at in first.values() if standing[hashes[at]] in inserted}
        return Written([(standing[value], at not in created) for at, value in enumerate(hashes)], linked)

    async def _store(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, prepared: Prepared, now: datetime
    ) -> set[UUID]:
        memories = MemoryRepository(connection, scope)
        inserted = await memories.insert(agent_id, self._index.model_id, prepared.rows, now)
        if inserted:
            new = sorted(inserted)
            await self._entities.declare(connection, scope, agent_id, prepared.declaration.only(inserted))
            await PendingRepository(connection).owe(scope, agent_id, new, self._projector.names, now + PROJECTION_GRACE)
            await memories.add_terms(agent_id, [(id, prepared.terms[id]) for id in new])
        return inserted

    async def _embed(self, items: Sequence[MemoryItem], prefixes: Sequence[str]) -> Sequence[tuple[Vectors, int]]:
        """A vector of length 1 (or 0) and the number of chunks for each item; no connection is held meanwhile."""
        dimension = self._embedder.model.dimension
        for item, prefix in zip(items, prefixes, strict=True):
            if item.embedding is not None and len(item.embedding) != dimension:
                raise InvalidInputProblem.of(
                    f"{prefix}embedding",
                    f"has {len(item.embedding)} dimensions; the model {self._embedder.model.name} has {dimension}",
                )
        texts = [item.content for item in items if item.embedding is None]
        passages = await self._embedder.embed_passages(texts) if texts else None
        computed = iter(zip(passages.vectors, passages.chunks, strict=True)) if passages else iter(())
        return [(unit_length(item.embedding), 1) if item.embedding is not None else next(computed) for item in items]


def unit_length(values: Sequence[float]) -> Vectors:
    """A given embedding as float32 of length 1; a zero vector stays zero."""
    vector = np.asarray(values, dtype=np.float64)
    largest = np.abs(vector).max()
    if largest == 0:
        return vector.astype(np.float32)
    vector /= largest  # so that the squares neither overflow nor vanish
    unit: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def _not_found(id: object) -> NotFoundProblem:
    return NotFoundProblem(f"There is no memory {id}.")


def _hashes(items: Sequence[MemoryItem]) -> list[bytes]:
    return [
        dedup_hash(item.content, user_id=item.user_id, session_id=item.session_id, valid_from=item.valid_from)
        for item in items
    ]


def _prepare(
    items: Sequence[MemoryItem],
    hashes: Sequence[bytes],
    embedded: Sequence[tuple[Vectors, int]],
    language: str,
    now: datetime,
    *,
    propose_names: bool,
) -> Prepared:
    analyzer = analyzer_for(language)
    common = stop_words(language)
    rows: list[NewMemory] = []
    terms: dict[UUID, Counter[str]] = {}
    declared: dict[UUID, list[tuple[str, bool]]] = {}
    proposals: dict[UUID, list[str]] = {}
    for item, value, (vector, chunks) in zip(items, hashes, embedded, strict=True):
        id = uuid7()
        terms[id] = analyzer.document_terms(item.content)
        declared[id] = [(entity.name, entity.role is EntityRole.subject) for entity in item.entities]
        if propose_names:
            proposals[id] = proposed_names(item.content, common)
        rows.append(
            NewMemory(
                id=id,
                content=item.content,
                user_id=item.user_id,
                session_id=item.session_id,
                tags=_json(list(dict.fromkeys(item.tags))),
                metadata=_json(item.metadata),
                declared_entities=_json([entity.model_dump(mode="json") for entity in item.entities]),
                source=item.source,
                confidence=item.confidence,
                valid_from=item.valid_from or now,
                valid_until=item.valid_until,
                dedup_hash=value,
                chunks=chunks,
                embedding=vector,
            )
        )
    return Prepared(rows, terms, declare(declared, proposals))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
