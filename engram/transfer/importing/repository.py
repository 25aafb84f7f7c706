"""SQL of an import: rows of an agent that nobody sees yet. Scope: every statement names the tenant and the agent, or
sets both in what it writes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.erasure import HELD_BY_AGENT, erase_agent
from engram.db.database import driver
from engram.db.vectors import packed
from engram.entities.occurring.repository import OccurrenceRepository
from engram.facts.ontology.repository import OntologyRepository
from engram.memories.rows import as_json
from engram.memories.term_repository import TermRepository
from engram.tenants.scope import Scope
from engram.transfer.importing.columns import READ, TABLES
from engram.transfer.importing.rows import MemoryRows, Row
from engram.transfer.schemas import ExportedAgent


class ImportRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, model_id: int) -> None:
        self.connection = connection
        self._scope = scope
        self._terms = TermRepository(connection, scope)
        self._occurrences = OccurrenceRepository(connection, scope)
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._agent_id = agent_id
        self._model_id = model_id

    async def begin(self, name: str, agent: ExportedAgent, now: datetime) -> None:
        """Make the agent that nobody sees."""
        await self._driver.execute(
            """
            INSERT INTO agents (
                id, tenant_id, name, language, metadata, decay_multipliers, hop_penalty, importing, updated_at
            )
            VALUES ($1, $2, $3, $4, $5::jsonb, $6::jsonb, $7, true, $8)
            """,
            self._agent_id,
            self._tenant_id,
            name,
            agent.language,
            as_json(agent.metadata),
            as_json(agent.decay_multipliers),
            agent.hop_penalty,
            now,
        )
        if agent.ontology is not None:
            await OntologyRepository(self.connection, self._scope).put(
                self._agent_id, **agent.ontology.model_dump(), now=now
            )

    async def touch(self, now: datetime) -> bool:
        """Say that the import goes on, and keep it from being given up until the transaction ends; false where it was
        given up."""
        status: str = await self._driver.execute(
            """
            UPDATE agents SET updated_at = $3
            WHERE id = $1 AND tenant_id = $2 AND importing AND updated_at > to_timestamp(0)
            """,
            self._agent_id,
            self._tenant_id,
            now,
        )
        return status == "UPDATE 1"

    async def give_up(self, silent_since: datetime) -> bool:
        """Let the import never end, where it has not gone on since; false where it has, or is no more."""
        status: str = await self._driver.execute(
            """
            UPDATE agents SET updated_at = to_timestamp(0)
            WHERE id = $1 AND tenant_id = $2 AND importing AND updated_at <= $3
            """,
            self._agent_id,
            self._tenant_id,
            silent_since,
        )
        return status == "UPDATE 1"

    async def erase_some(self, table: str, most: int) -> int:
        """Erase at most so many rows of an import that was given up, of a table of ``HELD_BY_AGENT``; how many."""
        assert table in HELD_BY_AGENT
        done: str = await self._driver.execute(
            f"""
            DELETE FROM {table} WHERE agent_id = $1 AND tenant_id = $2 AND ctid = ANY (ARRAY(
                SELECT ctid FROM {table} WHERE agent_id = $1 AND tenant_id = $2 LIMIT $3
            ))
            """,
            self._agent_id,
            self._tenant_id,
            most,
        )
        return int(done.removeprefix("DELETE "))

    async def erase(self) -> None:
        """Erase the agent that nobody sees, with what is left of it."""
        held = await self._driver.fetchval(
            "SELECT true FROM agents WHERE id = $1 AND tenant_id = $2 AND importing FOR UPDATE",
            self._agent_id,
            self._tenant_id,
        )
        if held:
            await erase_agent(self.connection, self._agent_id)

    async def in_turn(self) -> None:
        """Until the transaction ends no other import of the tenant takes ids."""
        await self._driver.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"engram import {self._tenant_id}"
        )

    async def taken(self, table: str, ids: Sequence[UUID]) -> tuple[UUID, bool] | None:
        """One of these ids that a row of another agent has, and whether that agent is being imported."""
        assert table in TABLES
        row = await self._driver.fetchrow(
            f"""
            SELECT m.id, a.importing FROM {table} m
            JOIN agents a ON a.tenant_id = $1 AND a.id = m.agent_id
            WHERE m.tenant_id = $1 AND m.id = ANY ($2::uuid[]) AND m.agent_id <> $3
            ORDER BY a.importing, m.id LIMIT 1
            """,
            self._tenant_id,
            list(ids),
            self._agent_id,
        )
        return (row["id"], row["importing"]) if row else None

    async def versions(self, ids: Sequence[UUID]) -> dict[UUID, int]:
        """The present versions of those of these memories that were written."""
        rows = await self._driver.fetch(
            "SELECT id, version FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])",
            self._agent_id,
            self._tenant_id,
            list(ids),
        )
        return {row["id"]: row["version"] for row in rows}

    async def facts(self, ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
        """What is believed of those of these facts that were written."""
        rows = await self._driver.fetch(
            """
            SELECT id, recorded_at, updated_at, valid_from, valid_until, stated_until, status, superseded_by FROM facts
            WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])
            """,
            self._agent_id,
            self._tenant_id,
            list(ids),
        )
        return {row["id"]: dict(row) for row in rows}

    async def merges(self) -> int:
        """How many merges were written that stand."""
        number: int = await self._driver.fetchval(
            "SELECT count(*) FROM fact_merges WHERE agent_id = $1 AND tenant_id = $2 AND undone_at IS NULL",
            self._agent_id,
            self._tenant_id,
        )
        return number

    async def add_fact_words(self, words: Collection[tuple[UUID, UUID]]) -> None:
        """Keys of words, and of nodes that are found by them, of which some may be there."""
        rows = sorted(words)
        await self._driver.execute(
            """
            INSERT INTO fact_words (agent_id, tenant_id, word, node)
            SELECT $1, $2, new.word, new.node FROM unnest($3::uuid[], $4::uuid[]) AS new (word, node)
            ORDER BY new.word, new.node
            ON CONFLICT DO NOTHING
            """,
            self._agent_id,
            self._tenant_id,
            [word for word, _ in rows],
            [node for _, node in rows],
        )

    async def add_memories(self, made: MemoryRows) -> None:
        await self._insert("memories", made.rows)
        slots = sorted({row["slot_hash"] for row in made.rows if row["slot_hash"] is not None})
        await self._driver.execute(
            """
            INSERT INTO memory_slots (agent_id, tenant_id, slot_hash)
            SELECT $1, $2, new.slot_hash FROM unnest($3::bytea[]) AS new (slot_hash) ORDER BY new.slot_hash
            ON CONFLICT DO NOTHING
            """,
            self._agent_id,
            self._tenant_id,
            slots,
        )
        await self._terms.add(self._agent_id, made.postings, made.terms)
        await self._driver.execute(
            """
            INSERT INTO memory_passages (agent_id, tenant_id, embedding_model_id, memory_id, position, embedding)
            SELECT $1, $2, $3, new.* FROM unnest($4::uuid[], $5::smallint[], $6::vector[]) AS new
            """,
            self._agent_id,
            self._tenant_id,
            self._model_id,
            [id for id, _, _ in made.passages],
            [position for _, position, _ in made.passages],
            packed([vector for _, _, vector in made.passages]),
        )
        # Not to be tried before the agent can be seen.
        await self._driver.execute(
            """
            INSERT INTO pending_projections (agent_id, tenant_id, memory_id, projection, version, next_attempt_at)
            SELECT $1, $2, new.*, 'infinity' FROM unnest($3::uuid[], $4::text[], $5::int[]) AS new
            """,
            self._agent_id,
            self._tenant_id,
            [id for id, _, _ in made.owed],
            [projection for _, projection, _ in made.owed],
            [version for _, _, version in made.owed],
        )

    async def add(self, table: str, rows: Sequence[Row]) -> None:
        """Rows of any table but ``memories``, in the order of their keys."""
        await self._insert(table, rows)

    async def _insert(self, table: str, rows: Sequence[Row]) -> None:
        columns = dict(TABLES[table])
        names = ", ".join(columns)
        read = ", ".join(READ.get(name, f"new.{name}") for name in columns)
        # What has vectors says of which model they are.
        model = "embedding_model_id, " if "embedding" in columns else ""
        arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(columns.values(), start=4))
        values = [
            packed([row[name] for row in rows]) if kind == "vector" else [row[name] for row in rows]
            for name, kind in columns.items()
        ]
        await self._driver.execute(
            f"""
            INSERT INTO {table} (agent_id, tenant_id, {model}{names})
            SELECT $1, $2, {"$3::smallint, " if model else ""}{read}
            FROM unnest({arrays}) WITH ORDINALITY AS new ({names}, place)
            WHERE $3::smallint IS NOT NULL ORDER BY new.place
            """,
            self._agent_id,
            self._tenant_id,
            self._model_id,
            *values,
        )

    async def memories_after(self, last: UUID | None, most: int) -> list[UUID]:
        """The next memories, in the order of their ids."""
        rows = await self._driver.fetch(
            """
            SELECT id FROM memories
            WHERE agent_id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR id > $3) ORDER BY id LIMIT $4
            """,
            self._agent_id,
            self._tenant_id,
            last,
            most,
        )
        return [row["id"] for row in rows]

    async def observe(self, ids: Sequence[UUID]) -> None:
        """Count what these memories name together. Nobody else writes to them: the agent is seen by nobody."""
        await self._occurrences.recount(self._agent_id, ids)

    async def unfollowed(self) -> UUID | None:
        """A memory that is superseded by none of the import, and did hold."""
        id: UUID | None = await self._driver.fetchval(
            """
            SELECT m.id FROM memories m
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.superseded_by IS NOT NULL
                AND m.valid_until IS DISTINCT FROM m.valid_from
                AND NOT EXISTS (
                    SELECT FROM memories s WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.id = m.superseded_by
                )
            LIMIT 1
            """,
            self._agent_id,
            self._tenant_id,
        )
        return id

    async def unfollowed_fact(self) -> UUID | None:
        """A fact of the file that stands and is superseded by none of it that begins in its place where it ends.

        What memories state is made here, and settled by rules of its own.
        """
        id: UUID | None = await self._driver.fetchval(
            """
            SELECT f.id FROM facts f
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.memory_id IS NULL AND f.superseded_by IS NOT NULL
                AND f.status = 'standing'
                AND NOT EXISTS (
                    SELECT FROM facts s
                    WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.id = f.superseded_by AND s.slot = f.slot
                        AND s.valid_from = f.valid_until
                )
            LIMIT 1
            """,
            self._agent_id,
            self._tenant_id,
        )
        return id

    async def named(self, name: str, *, lock: bool) -> tuple[UUID, bool] | None:
        """The agent of that name, and whether it holds anything."""
        row = await self._driver.fetchrow(
            f"""
            SELECT a.id, EXISTS (SELECT FROM memories m WHERE m.agent_id = a.id AND m.tenant_id = $1)
                OR EXISTS (SELECT FROM entities e WHERE e.agent_id = a.id AND e.tenant_id = $1)
                OR EXISTS (SELECT FROM facts f WHERE f.agent_id = a.id AND f.tenant_id = $1)
                OR EXISTS (SELECT FROM fact_merges g WHERE g.agent_id = a.id AND g.tenant_id = $1) AS holds
            FROM agents a WHERE a.tenant_id = $1 AND a.name = $2{" FOR UPDATE" if lock else ""}
            """,
            self._tenant_id,
            name,
        )
        return (row["id"], row["holds"]) if row else None

    async def replace(self, id: UUID) -> None:
        """Erase an agent that holds nothing, and is locked."""
        await erase_agent(self.connection, id)

    async def count(self, memories: int, terms: int, passages: int) -> None:
        await self._driver.execute(
            """
            INSERT INTO agent_counters (agent_id, shard, tenant_id, memories, terms, passages)
            VALUES ($1, 0, $2, $3, $4, $5)
            """,
            self._agent_id,
            self._tenant_id,
            memories,
            terms,
            passages,
        )

    async def owe(self, at: datetime) -> None:
        """Let what is owed to the agent's memories be tried from then on."""
        await self._driver.execute(
            "UPDATE pending_projections SET next_attempt_at = $3 WHERE agent_id = $1 AND tenant_id = $2",
            self._agent_id,
            self._tenant_id,
            at,
        )

    async def show(self, name: str, created_at: datetime, updated_at: datetime) -> dict[str, Any] | None:
        """Let the agent be seen, under its name; None where the import was given up."""
        row = await self._driver.fetchrow(
            """
            UPDATE agents SET name = $3, importing = false, created_at = $4, updated_at = $5
            WHERE id = $1 AND tenant_id = $2 AND importing AND updated_at > to_timestamp(0)
            RETURNING id, name, metadata, language, decay_multipliers, hop_penalty, created_at, updated_at
            """,
            self._agent_id,
            self._tenant_id,
            name,
            created_at,
            updated_at,
        )
        return dict(row) if row else None


class AbandonedRepository:
    """Imports that ended with their server, over all tenants: the server's own work."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._driver = driver(connection)

    async def find(self, silent_since: datetime, most: int) -> list[tuple[UUID, UUID]]:
        """Tenants and agents."""
        rows = await self._driver.fetch("SELECT * FROM engram_abandoned_imports($1, $2)", silent_since, most)
        return [(row["tenant_id"], row["agent_id"]) for row in rows]
