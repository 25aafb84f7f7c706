"""SQL of entities' vectors. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.db.vectors import packed
from engram.embeddings.base import Vectors
from engram.entities.vectors.nearest import nearest
from engram.entities.vectors.telling import NAMED, TELLING, Group
from engram.memories.vectors import VectorIndex
from engram.tenants.scope import Scope

# Of an entity and a user in ``g``.
_MISSING = """
    NOT EXISTS (
        SELECT FROM entity_vectors v
        WHERE v.agent_id = $1 AND v.tenant_id = $2 AND v.entity_id = g.entity_id AND v.user_id = g.user_id
    )
"""


@dataclass(frozen=True, slots=True)
class Made:
    group: Group
    memory_ids: list[UUID]
    mentions: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class NearEntity:
    """``similarity`` is a cosine."""

    entity_id: UUID
    name: str
    similarity: float


class EntityVectorRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> None:
        self._driver = driver(connection)
        self._of_agent = (agent_id, scope.tenant_id)

    async def unchanged(self, versions: Mapping[UUID, int]) -> bool:
        """Whether these memories are what they were at these versions. Until the transaction ends nobody changes
        them."""
        rows = await self._driver.fetch(
            """
            SELECT id, version FROM memories WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])
            ORDER BY id FOR SHARE
            """,
            *self._of_agent,
            sorted(versions),
        )
        return {row["id"]: row["version"] for row in rows} == versions

    async def lock(self, groups: Collection[Group]) -> None:
        """Those of these that stand, in the order of their keys, in which whoever takes some away locks them too."""
        ordered = sorted(groups)
        await self._driver.execute(
            """
            SELECT FROM entity_vectors v
            JOIN unnest($3::uuid[], $4::text[]) AS wanted (entity_id, user_id)
                ON v.entity_id = wanted.entity_id AND v.user_id = wanted.user_id
            WHERE v.agent_id = $1 AND v.tenant_id = $2
            ORDER BY v.entity_id, v.user_id FOR UPDATE OF v
            """,
            *self._of_agent,
            [group.entity_id for group in ordered],
            [group.user_id for group in ordered],
        )

    async def write(self, made: Sequence[Made], vectors: Vectors, index: VectorIndex, now: datetime) -> None:
        """``vectors`` has the shape (made, dimension). What is made of an entity that went meanwhile is left out."""
        rows = sorted(zip(made, packed(vectors), strict=True), key=lambda row: row[0].group)
        await self._driver.execute(
            """
            INSERT INTO entity_vectors (
                agent_id, tenant_id, entity_id, user_id, memory_ids, mentions, digest, updated_at, embedding_model_id,
                embedding
            )
            SELECT $1, $2, new.entity_id, new.user_id, string_to_array(new.memory_ids, ' ')::uuid[], new.mentions,
                new.digest, $9, $10, new.embedding
            FROM unnest($3::uuid[], $4::text[], $5::text[], $6::int[], $7::bytea[], $8::vector[])
                AS new (entity_id, user_id, memory_ids, mentions, digest, embedding)
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = new.entity_id
            ORDER BY new.entity_id, new.user_id
            ON CONFLICT (agent_id, entity_id, user_id) DO UPDATE
            SET memory_ids = excluded.memory_ids, mentions = excluded.mentions, digest = excluded.digest,
                updated_at = excluded.updated_at, embedding_model_id = excluded.embedding_model_id,
                embedding = excluded.embedding
            """,
            *self._of_agent,
            [one.group.entity_id for one, _ in rows],
            [one.group.user_id for one, _ in rows],
            [" ".join(map(str, one.memory_ids)) for one, _ in rows],
            [one.mentions for one, _ in rows],
            [one.digest for one, _ in rows],
            [vector for _, vector in rows],
            now,
            index.model_id,
        )

    async def keep(self, made: Sequence[Made]) -> None:
        """Note that the same text is made of these memories now, which so many name; the vectors are locked."""
        rows = sorted(made, key=lambda one: one.group)
        await self._driver.execute(
            """
            UPDATE entity_vectors v SET memory_ids = new.memory_ids, mentions = new.mentions
            FROM (
                SELECT new.entity_id, new.user_id, string_to_array(new.memory_ids, ' ')::uuid[] AS memory_ids,
                    new.mentions
                FROM unnest($3::uuid[], $4::text[], $5::text[], $6::int[])
                    AS new (entity_id, user_id, memory_ids, mentions)
            ) AS new
            WHERE v.agent_id = $1 AND v.tenant_id = $2 AND v.entity_id = new.entity_id AND v.user_id = new.user_id
            """,
            *self._of_agent,
            [one.group.entity_id for one in rows],
            [one.group.user_id for one in rows],
            [" ".join(map(str, one.memory_ids)) for one in rows],
            [one.mentions for one in rows],
        )

    async def remove_silent(self, groups: Collection[Group]) -> None:
        """Take away the vectors of those of these, which are locked, of which by now nothing tells."""
        ordered = sorted(groups)
        await self._driver.execute(
            f"""
            DELETE FROM entity_vectors v USING unnest($3::uuid[], $4::text[]) AS g (entity_id, user_id)
            WHERE v.agent_id = $1 AND v.tenant_id = $2 AND v.entity_id = g.entity_id AND v.user_id = g.user_id
                AND NOT EXISTS ({TELLING})
            """,
            *self._of_agent,
            [group.entity_id for group in ordered],
            [group.user_id for group in ordered],
        )

    async def hold(self, *, alone: bool = False) -> None:
        """Until the transaction ends no server that makes vectors takes any of the agent's away, or ``alone`` only this
        transaction does."""
        await self._driver.execute(
            f"""
            SELECT pg_advisory_xact_lock{"" if alone else "_shared"}(
                hashtextextended('engram entity vectors ' || $1::uuid || ' ' || $2::uuid, 0)
            )
            """,
            *self._of_agent,
        )

    async def all_stand(self, memory_ids: Sequence[UUID]) -> bool:
        """Whether everything that these memories name, and something tells of, has a vector."""
        missing: bool = await self._driver.fetchval(
            f"SELECT EXISTS (SELECT FROM ({NAMED}) AS g WHERE {_MISSING} AND EXISTS ({TELLING}))",
            *self._of_agent,
            list(memory_ids),
        )
        return not missing

    async def remove_made_of(self, memory_ids: Sequence[UUID]) -> list[Group]:
        """Take away what was made of any of these memories; of which entities that was."""
        rows = await self._driver.fetch(
            """
            DELETE FROM entity_vectors WHERE ctid = ANY (ARRAY(
                SELECT v.ctid FROM entity_vectors v
                WHERE v.agent_id = $1 AND v.tenant_id = $2 AND v.memory_ids && $3::uuid[]
                ORDER BY v.entity_id, v.user_id FOR UPDATE
            ))
            RETURNING entity_id, user_id
            """,
            *self._of_agent,
            list(memory_ids),
        )
        return [Group(row["entity_id"], row["user_id"]) for row in rows]

    async def owing(self, gone: Collection[Group], memory_ids: Sequence[UUID], *, but: Collection[UUID]) -> list[UUID]:
        """For each of these that are gone, and each that these memories name and that has no vector, a memory that
        tells of it, where there is one ``but`` these; ordered by id."""
        ordered = sorted(gone)
        rows = await self._driver.fetch(
            f"""
            SELECT DISTINCT telling.memory_id
            FROM (
                SELECT gone.entity_id, gone.user_id FROM unnest($4::uuid[], $5::text[]) AS gone (entity_id, user_id)
                UNION SELECT g.entity_id, g.user_id FROM ({NAMED}) AS g WHERE {_MISSING}
            ) AS g
            CROSS JOIN LATERAL (
                SELECT telling.memory_id FROM ({TELLING}) AS telling
                WHERE telling.memory_id <> ALL ($6::uuid[]) ORDER BY telling.memory_id DESC LIMIT 1
            ) AS telling
            ORDER BY telling.memory_id
            """,
            *self._of_agent,
            list(memory_ids),
            [group.entity_id for group in ordered],
            [group.user_id for group in ordered],
            list(but),
        )
        return [row["memory_id"] for row in rows]

    async def nearest(
        self, vector: Vectors, index: VectorIndex, *, user_id: str | None, floor: float, limit: int, indexed: bool
    ) -> list[NearEntity]:
        """The entities whose vectors, of one user or of any, are nearest to this, of a cosine above ``floor``; the
        nearest first."""
        p = Parameters()
        agent, tenant = (p(value, "uuid") for value in self._of_agent)

        def mine(alias: str) -> str:
            return f"{alias}.agent_id = {agent} AND {alias}.tenant_id = {tenant}"

        of_user = p(user_id, "text") if user_id is not None else None
        near = nearest(mine, index, p(vector, "vector"), user_id=of_user, limit=limit, indexed=indexed)
        rows = await self._driver.fetch(
            f"""
            SELECT e.id, e.name, near.similarity
            FROM ({near}) AS near
            JOIN entities e ON {mine("e")} AND e.id = near.entity_id
            WHERE near.similarity > {p(floor, "float8")}
            ORDER BY near.similarity DESC, e.name
            """,
            *p.values,
        )
        return [NearEntity(row["id"], row["name"], row["similarity"]) for row in rows]
