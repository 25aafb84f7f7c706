"""SQL of recall. Scope: every table of every statement is read within the tenant and the agent.

A recall takes four statements, whatever it finds: the agent, the arms, the walk, the memories that are shown. Where
diversity is wanted, the vectors to choose by are a fifth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.estimates import estimated_rows
from engram.db.parameters import Parameters
from engram.db.portions import MAX_PORTION_BYTES
from engram.embeddings.base import Vectors
from engram.graph.neighbours import Neighbourhood
from engram.memories.models import WIRE_BYTES, WIRE_COLUMNS
from engram.memories.predicates import Visibility
from engram.memories.vectors import SEARCH_SETTINGS, VectorIndex
from engram.recall.asked import AskedTerm
from engram.recall.frequencies import TermFrequencies
from engram.recall.naming import Named, Near, Subject
from engram.recall.pool import Candidates
from engram.recall.statements.arms import arms
from engram.recall.statements.candidates import Passages
from engram.recall.statements.walk import walk
from engram.recall.targets import Target
from engram.recall.walk import Edges, Namings
from engram.tenants.scope import Scope
from engram.tuning import Tuning


@dataclass(frozen=True, slots=True)
class AskedAgent:
    language: str
    registered: bool
    """Whether the database is still that of the server's embedding model."""
    memories: int
    terms: int
    passages: int
    stored: float
    stored_passages: float
    """Memories and passages of all agents, about."""
    decay_multipliers: dict[str, float]
    hop_penalty: float | None
    """What a hop costs, where the agent says otherwise than the server."""
    near_indexed: bool
    """Whether vectors of entities are searched through their index."""

    @property
    def average_length(self) -> float:
        return max(self.terms / self.memories, 1.0) if self.memories else 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """What the arms found, and what each term of the query weighs."""

    candidates: Candidates
    weights: dict[str, float]
    subjects: list[Subject]
    aimed: dict[UUID, Named]
    """Memories that a target leads to."""
    near: list[Near]


@dataclass(frozen=True, slots=True)
class Walked:
    edges: Edges
    namings: Namings
    candidates: Candidates
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the arms and the walk look for, under which filters."""

    agent_id: UUID
    vector: Vectors
    terms: Sequence[AskedTerm]
    openings: Sequence[str]
    visibility: Visibility
    multipliers: dict[str, float]
    targets: Sequence[Target] | None = None
    """Entities at which the recall is aimed; None where it is not."""
    mentioned: float = 0.0
    """What a memory is worth that mentions a target, beside 1 for one that is about it."""
    only_targets: bool = False
    """Whether nothing else is looked for."""
    near_above: float | None = None
    """Cosine above which an entity leads to memories by its vector; None where none does."""


class RecallRepository:
    def __init__(
        self,
        connection: AsyncConnection,
        scope: Scope,
        index: VectorIndex,
        tuning: Tuning,
        frequencies: TermFrequencies,
    ) -> None:
        self._driver = driver(connection)
        self._frequencies = frequencies
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id
        self._index = index
        self._tuning = tuning.recall
        self._graph = tuning.graph

    async def agent(self, agent_id: UUID) -> AskedAgent | None:
        """What a recall needs to know of its agent, and HNSW set to answer in full, in one statement."""
        row = await self._driver.fetchrow(
            f"""
            SELECT a.language, a.decay_multipliers, a.hop_penalty,
                EXISTS (SELECT FROM embedding_models WHERE id = $4) AS registered,
                coalesce(c.memories, 0) AS memories, coalesce(c.terms, 0) AS terms,
                coalesce(c.passages, 0) AS passages,
                {self._near_indexed()} AS near_indexed,
                {estimated_rows("memories")} AS stored, {estimated_rows("memory_passages")} AS stored_passages,
                {SEARCH_SETTINGS}
            FROM agents a
            CROSS JOIN LATERAL (
                SELECT sum(memories)::bigint AS memories, sum(terms)::bigint AS terms,
                    sum(passages)::bigint AS passages
                FROM agent_counters WHERE agent_id = $1
            ) AS c
            WHERE a.id = $1 AND a.tenant_id = $2 AND ($3::uuid IS NULL OR a.id = $3) AND NOT a.importing
            """,
            agent_id,
            self._tenant_id,
            self._only,
            self._index.model_id,
        )
        if row is None:
            return None
        return AskedAgent(
            language=row["language"],
            registered=row["registered"],
            memories=row["memories"],
            terms=row["terms"],
            passages=row["passages"],
            stored=row["stored"],
            stored_passages=row["stored_passages"],
            decay_multipliers=row["decay_multipliers"],
            hop_penalty=row["hop_penalty"],
            near_indexed=row["near_indexed"],
        )

    def _near_indexed(self) -> str:
        """Of the agent, where entities lead anywhere by their vectors."""
        if not self._tuning.entity_vectors:
            return "false"
        mine = "v.agent_id = $1 AND v.tenant_id = $2"
        return self._index.serves_sql("entity_vectors v", mine, estimated_rows("entity_vectors"))

    async def arms(self, question: Question, agent: AskedAgent, top_k: int) -> Found:
        around = self._around(question)
        terms = [asked.term for asked in question.terms]
        statement = arms(
            question.visibility,
            self._index,
            around,
            self._tuning,
            vector=question.vector,
            terms=question.terms,
            counted=self._frequencies.known(question.agent_id, terms, agent.memories),
            memories=agent.memories,
            average_length=agent.average_length,
            pool=max(self._tuning.pool_floor, 2 * top_k),
            indexed=self._index.serves(agent.memories, agent.stored),
            passages=self._passages(agent),
            openings=list(question.openings),
            targets=question.targets,
            mentioned=question.mentioned,
            only_targets=question.only_targets,
            near_above=question.near_above,
            near_indexed=agent.near_indexed,
        )
        row = await self._driver.fetchrow(statement, *around.p.values)
        assert row is not None  # aggregates give one row always
        self._frequencies.remember(question.agent_id, terms, row["dfs"] or (), agent.memories)
        return Found(
            _candidates(row),
            dict(zip(terms, row["idfs"] or (), strict=True)),
            [
                Subject(UUID(memory_id), name, display_name, size)
                for memory_id, name, display_name, size in row["subjects"] or ()
            ],
            {UUID(memory_id): Named(weight, name) for memory_id, weight, name in row["targets"] or ()},
            [Near(UUID(memory_id), name, similarity, size) for memory_id, name, similarity, size in row["near"] or ()],
        )

    def _passages(self, agent: AskedAgent) -> Passages:
        if not self._tuning.passages or not agent.passages:
            return Passages.none
        indexed = self._index.serves(agent.passages, agent.stored_passages)
        return Passages.indexed if indexed else Passages.scanned

    async def walk(
        self,
        question: Question,
        agent: AskedAgent,
        anchors: dict[UUID, float],
        *,
        max_hops: int,
        hop_penalty: float,
    ) -> Walked:
        around = self._around(question)
        ids = sorted(anchors)
        statement = walk(
            around,
            self._tuning,
            anchors=list(ids),
            scores=[anchors[id] for id in ids],
            max_hops=max_hops,
            keep=1 - hop_penalty,
            vector=question.vector,
            terms=[asked.term for asked in question.terms],
            passages=self._passages(agent),
        )
        row = await self._driver.fetchrow(statement, *around.p.values)
        assert row is not None  # aggregates give one row always
        return Walked(
            Edges(
                row["sources"] or (),
                row["targets"] or (),
                row["relation_types"] or (),
                row["directions"] or (),
                row["weights"] or (),
                row["multipliers"] or (),
            ),
            Namings(row["entities"] or (), row["members"] or (), row["factors"] or ()),
            _candidates(row),
            row["truncated"],
        )

    async def embeddings(self, question: Question, ids: Sequence[UUID]) -> list[Vectors]:
        """The vectors of these memories, in the order given."""
        around = self._around(question)
        p = around.p
        rows = await self._driver.fetch(
            f"""
            SELECT m.id, m.embedding FROM {question.visibility.memories(p)} m
            WHERE {around.mine("m")} AND m.id = ANY ({p(list(ids), "uuid[]")})
            """,
            *p.values,
        )
        found = {row["id"]: row["embedding"] for row in rows}
        return [found[id] for id in ids]

    async def show(
        self, question: Question, ids: Sequence[UUID], entity_ids: Sequence[UUID]
    ) -> tuple[dict[UUID, dict[str, Any]], dict[str, str]]:
        """The memories to be shown by id, and the names of the entities on their paths by id as text.

        The memories are those of ``ids``, best first, up to where they are too large to be shown together.
        """
        around = self._around(question)
        p = around.p
        rows = await self._driver.fetch(
            f"""
            SELECT {WIRE_COLUMNS}, (
                SELECT jsonb_object_agg(e.id, e.display_name) FROM entities e
                WHERE {around.mine("e")} AND e.id = ANY ({p(list(entity_ids), "uuid[]")})
            ) AS entity_names
            FROM (
                SELECT {WIRE_COLUMNS}, place, sum({WIRE_BYTES}) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS bytes
                FROM unnest({p(list(ids), "uuid[]")}) WITH ORDINALITY AS wanted (wanted_id, place)
                -- The limit has each looked up by itself: a join may read all that an agent holds.
                CROSS JOIN LATERAL (
                    SELECT {WIRE_COLUMNS} FROM {question.visibility.memories(p)} m
                    WHERE {around.mine("m")} AND m.id = wanted_id LIMIT 1
                ) AS found
            ) AS sized
            WHERE bytes <= {MAX_PORTION_BYTES} OR place = 1
            """,
            *p.values,
        )
        names = (rows[0]["entity_names"] or {}) if rows else {}
        return {row["id"]: dict(row) for row in rows}, names

    def _around(self, question: Question) -> Neighbourhood:
        return Neighbourhood(
            tenant_id=self._tenant_id,
            agent_id=question.agent_id,
            visibility=question.visibility,
            multipliers=question.multipliers,
            # One more than is followed tells whether there were more.
            fan_out=self._tuning.fan_out + 1,
            tuning=self._graph,
            p=Parameters(),
        )


def _candidates(row: asyncpg.Record) -> Candidates:
    return Candidates(
        row["ids"] or (),
        np.array(row["similarities"] or (), dtype=np.float64),
        row["lengths"] or (),
        row["lexemes"] or (),
    )
