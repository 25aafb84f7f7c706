"""SQL of memories. Scope: statements name the agent, whose tenant was checked; look-ups by id name the tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.moments import aware
from engram.db.parameters import Parameters
from engram.db.vectors import packed
from engram.embeddings.base import Vectors
from engram.memories import known
from engram.memories.models import WIRE_COLUMNS
from engram.memories.postings import Postings
from engram.memories.rows import IndexedTerms, NewMemory, StoredText, Twin
from engram.memories.term_repository import TermRepository
from engram.tenants.scope import Scope

COUNTER_SHARDS = 16


class MemoryRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._terms = TermRepository(connection, scope)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id
        # The connection's, so one for all that a transaction counts, through whichever repository: two writers that
        # took two shards each could wait for each other.
        self._shard = self._driver.get_server_pid() % COUNTER_SHARDS

    async def twins(self, agent_id: UUID, hashes: Sequence[bytes]) -> dict[bytes, Twin]:
        """Current memories by their dedup hash."""
        rows = await self._driver.fetch(
            "SELECT dedup_hash, id, valid_until FROM engram_twins($1, $2::bytea[])", agent_id, list(hashes)
        )
        return {row["dedup_hash"]: Twin(row["id"], aware(row["valid_until"])) for row in rows}

    async def release_ended(self, agent_id: UUID, ids: Sequence[UUID], now: datetime) -> None:
        """Let those of these memories that have ended no longer stand for ones to be written."""
        await self._driver.execute(
            """
            UPDATE memories SET dedup_hash = NULL
            FROM (
                SELECT id FROM memories
                WHERE agent_id = $1 AND id = ANY ($2::uuid[]) AND valid_until <= $3
                ORDER BY id FOR UPDATE
            ) AS ended
            WHERE memories.agent_id = $1 AND memories.id = ended.id
            """,
            agent_id,
            list(ids),
            now,
        )

    async def insert(self, agent_id: UUID, model_id: int, memories: Sequence[NewMemory], now: datetime) -> set[UUID]:
        """Write rows, and say which are new. One whose twin stands, or is being written, is left out."""
        rows = sorted(memories, key=lambda memory: memory.dedup_hash or b"")
        inserted = await self._driver.fetch(
            """
            INSERT INTO memories (
                agent_id, tenant_id, embedding_model_id, recorded_at, updated_at, id, content, user_id, session_id,
                tags, metadata, declared_entities, declared_relations, declared_quantities, sensitivity, withheld,
                source, confidence, valid_from, stated_until, dedup_hash, chunks, embedding, key, slot_hash,
                superseded_by, valid_until, status
            )
            SELECT
                $1, $2, $3, $4, $4, new.id, new.content, new.user_id, new.session_id,
                ARRAY(SELECT jsonb_array_elements_text(new.tags)), new.metadata, new.declared_entities,
                new.declared_relations, new.declared_quantities, new.sensitivity, new.withheld, new.source,
                new.confidence, new.valid_from, new.stated_until, new.dedup_hash, new.chunks, new.embedding, new.key,
                new.slot_hash, new.superseded_by, least(new.stated_until, new.ends_early),
                CASE WHEN new.superseded_by IS NULL THEN 'current' ELSE 'superseded' END
            FROM unnest(
                $5::uuid[], $6::text[], $7::text[], $8::text[], $9::jsonb[], $10::jsonb[], $11::jsonb[], $12::text[],
                $13::float8[], $14::timestamptz[], $15::timestamptz[], $16::bytea[], $17::int[], $18::vector[],
                $19::text[], $20::bytea[], $21::uuid[], $22::timestamptz[], $23::jsonb[],
                $24::jsonb[], $25::text[], $26::bool[]
            ) AS new (
                id, content, user_id, session_id, tags, metadata, declared_entities, source,
                confidence, valid_from, stated_until, dedup_hash, chunks, embedding, key, slot_hash, superseded_by,
                ends_early, declared_relations, declared_quantities, sensitivity, withheld
            )
            ORDER BY new.dedup_hash
            ON CONFLICT (agent_id, dedup_hash) WHERE dedup_hash IS NOT NULL AND status = 'current' DO NOTHING
            RETURNING id
            """,
            agent_id,
            self._tenant_id,
            model_id,
            now,
            [row.id for row in rows],
            [row.content for row in rows],
            [row.user_id for row in rows],
            [row.session_id for row in rows],
            [row.tags for row in rows],
            [row.metadata for row in rows],
            [row.declared_entities for row in rows],
            [row.source for row in rows],
            [row.confidence for row in rows],
            [row.valid_from for row in rows],
            [row.valid_until for row in rows],
            [row.dedup_hash for row in rows],
            [row.chunks for row in rows],
            packed([row.embedding for row in rows]),
            [row.key for row in rows],
            [row.slot_hash for row in rows],
            [row.superseded_by for row in rows],
            [row.ends_early for row in rows],
            [row.declared_relations for row in rows],
            [row.declared_quantities for row in rows],
            [row.sensitivity for row in rows],
            [row.withheld for row in rows],
        )
        return {row["id"] for row in inserted}

    async def add_terms(self, agent_id: UUID, postings: Postings, terms: Mapping[UUID, IndexedTerms]) -> None:
        """Index new memories, and add them to the agent's running counts."""
        await self._terms.add(agent_id, postings, terms)
        await self._count(agent_id, memories=len(postings.ids), terms=sum(postings.lengths))

    async def add_passages(self, agent_id: UUID, model_id: int, passages: Mapping[UUID, Vectors]) -> None:
        """Write the passages' vectors of memories, an array of the shape (passages, dimension) for each."""
        rows = [(id, position, vector) for id in sorted(passages) for position, vector in enumerate(passages[id])]
        if not rows:
            return
        await self._driver.execute(
            """
            INSERT INTO memory_passages (agent_id, tenant_id, embedding_model_id, memory_id, position, embedding)
            SELECT $1, $2, $3, new.* FROM unnest($4::uuid[], $5::smallint[], $6::vector[]) AS new
            """,
            agent_id,
            self._tenant_id,
            model_id,
            [id for id, _, _ in rows],
            [position for _, position, _ in rows],
            packed([vector for _, _, vector in rows]),
        )
        await self._count(agent_id, passages=len(rows))

    async def remove_passages(self, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        status: str = await self._driver.execute(
            "DELETE FROM memory_passages WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = ANY ($3::uuid[])",
            agent_id,
            self._tenant_id,
            list(memory_ids),
        )
        if (removed := int(status.rsplit(maxsplit=1)[-1])) > 0:
            await self._count(agent_id, passages=-removed)

    async def remove_terms(self, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        """Take the words of memories that are in the index out of it, and out of the running counts.

        The caller has locked the memories: nobody else changes rows of theirs, in whatever order they go.
        """
        await self._driver.execute(
            "DELETE FROM memory_terms WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = ANY ($3::uuid[])",
            agent_id,
            self._tenant_id,
            list(memory_ids),
        )
        lengths = await self._driver.fetch(
            """
            DELETE FROM memory_lexemes WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = ANY ($3::uuid[])
            RETURNING length
            """,
            agent_id,
            self._tenant_id,
            list(memory_ids),
        )
        await self._count(agent_id, memories=-len(memory_ids), terms=-sum(row["length"] for row in lengths))

    async def _count(self, agent_id: UUID, *, memories: int = 0, terms: int = 0, passages: int = 0) -> None:
        await self._driver.execute(
            """
            INSERT INTO agent_counters AS counter (agent_id, shard, tenant_id, memories, terms, passages)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (agent_id, shard) DO UPDATE
            SET memories = counter.memories + excluded.memories, terms = counter.terms + excluded.terms,
                passages = counter.passages + excluded.passages
            """,
            agent_id,
            self._shard,
            self._tenant_id,
            memories,
            terms,
            passages,
        )

    async def get(self, id: UUID, known_at: datetime | None = None) -> dict[str, Any] | None:
        """A memory in any state, a tombstone too, with the number of its chunks; as it was known then, if asked."""
        p = Parameters()
        only = p(self._only, "uuid")
        row = await self._driver.fetchrow(
            f"""
            SELECT {WIRE_COLUMNS}, chunks, declared_relations AS relations, declared_quantities AS quantities,
                sensitivity
            FROM {known.memories(known_at, p)} m
            WHERE m.id = {p(id, "uuid")} AND m.tenant_id = {p(self._tenant_id, "uuid")}
                AND ({only} IS NULL OR m.agent_id = {only}) AND {of_seen_agent("m")}
            """,
            *p.values,
        )
        return dict(row) if row else None

    async def version(self, agent_id: UUID, id: UUID) -> int:
        version: int = await self._driver.fetchval(
            "SELECT version FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND id = $3",
            agent_id,
            self._tenant_id,
            id,
        )
        return version

    async def texts(self, agent_id: UUID, ids: Sequence[UUID], *, max_chars: int) -> list[StoredText]:
        """Texts, at most ``max_chars`` of each, of the memories among these that are not deleted, and of whose texts
        something may be made."""
        rows = await self._driver.fetch(
            """
            SELECT id, left(content, $3) AS content, md5(content) AS digest FROM memories
            WHERE agent_id = $1 AND tenant_id = $4 AND id = ANY ($2::uuid[]) AND status <> 'deleted'
                AND sensitivity = 'normal'
            ORDER BY id
            """,
            agent_id,
            list(ids),
            max_chars,
            self._tenant_id,
        )
        return [StoredText(row["id"], row["content"], row["digest"]) for row in rows]

    async def lock(self, agent_id: UUID, ids: Sequence[UUID]) -> dict[UUID, str | None]:
        """Those of these memories that are not deleted, with the digests of their texts where something may be made of
        these; until the transaction ends nobody else changes them."""
        rows = await self._driver.fetch(
            """
            SELECT id, CASE WHEN sensitivity = 'normal' THEN md5(content) END AS digest FROM memories
            WHERE agent_id = $1 AND tenant_id = $3 AND id = ANY ($2::uuid[]) AND status <> 'deleted'
            ORDER BY id FOR NO KEY UPDATE
            """,
            agent_id,
            list(ids),
            self._tenant_id,
        )
        return {row["id"]: row["digest"] for row in rows}

    async def lock_changing(self, agent_id: UUID, ids: Sequence[UUID]) -> dict[UUID, datetime]:
        """Lock those of these memories that are not deleted, in the order of their ids, to be changed: since when each
        has been what it is."""
        rows = await self._driver.fetch(
            """
            SELECT id, updated_at FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[]) AND status <> 'deleted'
            ORDER BY id FOR NO KEY UPDATE
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        return {row["id"]: row["updated_at"] for row in rows}

    async def holding_all(self, agent_id: UUID, phrases: Sequence[Sequence[str]], limit: int) -> list[UUID]:
        """Memories in which all terms of one of the phrases stand: of each phrase the latest ``limit``.

        Each phrase is entered by its rarest term, so that "the user" does not read all that "user" stands in.
        """
        numbers = [number for number, phrase in enumerate(phrases) for _ in phrase]
        terms = [term for phrase in phrases for term in phrase]
        rows = await self._driver.fetch(
            """
            WITH wanted AS MATERIALIZED (
                SELECT phrase, term FROM unnest($2::int[], $3::text[]) AS given (phrase, term)
            ),
            sizes AS MATERIALIZED (
                SELECT d.term, (
                    SELECT count(*) FROM (
                        SELECT FROM memory_terms t WHERE t.agent_id = $1 AND t.term = d.term LIMIT $4
                    ) AS bounded
                ) AS size
                FROM (SELECT DISTINCT term FROM wanted) AS d
            ),
            phrases AS MATERIALIZED (
                SELECT w.phrase, array_agg(w.term ORDER BY s.size, w.term) AS terms
                FROM wanted w JOIN sizes s USING (term) GROUP BY w.phrase
            )
            SELECT DISTINCT hit.memory_id
            FROM phrases p
            CROSS JOIN LATERAL (
                SELECT t.memory_id
                FROM memory_terms t
                WHERE t.agent_id = $1 AND t.term = p.terms[1] AND cardinality(p.terms) = (
                    SELECT count(*) FROM unnest(p.terms) AS other (term)
                    CROSS JOIN LATERAL (
                        SELECT FROM memory_terms o
                        WHERE o.agent_id = $1 AND o.term = other.term AND o.memory_id = t.memory_id LIMIT 1
                    ) AS present
                )
                ORDER BY t.memory_id DESC
                LIMIT $4
            ) AS hit
            """,
            agent_id,
            numbers,
            terms,
            limit,
        )
        return [row["memory_id"] for row in rows]

    async def agent_of(self, id: UUID) -> UUID | None:
        """The agent of a memory that is not deleted."""
        agent_id: UUID | None = await self._driver.fetchval(
            f"""
            SELECT agent_id FROM memories
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) AND status <> 'deleted'
                AND {of_seen_agent("memories")}
            """,
            id,
            self._tenant_id,
            self._only,
        )
        return agent_id

    async def delete(self, agent_id: UUID, ids: Sequence[UUID], now: datetime) -> None:
        """Turn memories that the caller has locked into tombstones."""
        await self._driver.execute(
            """
            UPDATE memories
            SET status = 'deleted', deleted_at = $4, updated_at = $4, version = version + 1
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[]) AND status <> 'deleted'
            """,
            agent_id,
            self._tenant_id,
            list(ids),
            now,
        )
