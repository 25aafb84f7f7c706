"""SQL of memories that name given entities. Scope: every statement names the tenant and the agent; the look-up of a
memory by its id names the tenant.

What a memory names is what its text of today does, also where it is asked what was known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.hidden import of_seen_agent
from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.db.portions import portion, shown
from engram.entities.graph.walk import Entity
from engram.memories import known
from engram.memories.models import WIRE_BYTES, WIRE_COLUMNS
from engram.memories.predicates import Visibility
from engram.tenants.scope import Scope

MAX_NAMES = 100
"""Entities of one memory that are asked for others: subjects first, then declared ones, then by name."""

MAX_TELLING = 16
"""Of these the fewest memories name, whose memories are compared."""

MAX_WEIGHED = 1_000
"""An entity that more memories name weighs as one of one more."""

MAX_LATEST = 500
"""Memories of one entity that are compared, the latest; and they are looked for among ``MAX_LOOKED``."""

MAX_LOOKED = 20_000


class EntityMemoryRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def agent_of(self, memory_id: UUID, known_at: datetime | None) -> UUID | None:
        """The agent of a memory that is not deleted, or was not as far as was known at an instant."""
        p = Parameters()
        only = p(self._only, "uuid")
        agent_id: UUID | None = await self._driver.fetchval(
            f"""
            SELECT m.agent_id FROM {known.memories(known_at, p)} m
            WHERE m.id = {p(memory_id, "uuid")} AND m.tenant_id = {p(self._tenant_id, "uuid")}
                AND ({only} IS NULL OR m.agent_id = {only}) AND m.status <> 'deleted' AND {of_seen_agent("m")}
            """,
            *p.values,
        )
        return agent_id

    async def entities_of(self, agent_id: UUID, memory_id: UUID) -> list[dict[str, Any]]:
        """What a memory names: id, name, display_name."""
        rows = await self._driver.fetch(
            """
            SELECT e.id, e.name, e.display_name FROM mentions n
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = n.entity_id
            WHERE n.agent_id = $1 AND n.tenant_id = $2 AND n.memory_id = $3
            ORDER BY n.is_subject DESC, n.recognized, e.name LIMIT $4
            """,
            agent_id,
            self._tenant_id,
            memory_id,
            MAX_NAMES,
        )
        return [dict(row) for row in rows]

    async def related(
        self, agent_id: UUID, memory_id: UUID, entities: Sequence[Entity], seen: Visibility, *, limit: int
    ) -> tuple[list[dict[str, Any]], bool]:
        """What shares these entities of a memory, the most telling first: with ``score``, and as ``shared`` the ids of
        the entities; a portion of at most ``limit``, and whether there are more."""
        p = Parameters()
        others = f"n.memory_id <> {p(memory_id, 'uuid')}"
        columns = f"{WIRE_COLUMNS}, score, shared"
        rows = await self._driver.fetch(
            f"""
            WITH named AS MATERIALIZED ({_named(entities, p)}),
            weighed AS MATERIALIZED (
                SELECT named.node, 1 / sqrt(least(sum(counted.memories), {MAX_WEIGHED + 1})::float8) AS weight
                FROM named CROSS JOIN LATERAL (
                    SELECT count(*) AS memories FROM (
                        SELECT FROM mentions n WHERE {self._mine("n", agent_id, p)} AND n.entity_id = named.id
                        LIMIT {MAX_WEIGHED + 1}
                    ) AS bounded
                ) AS counted
                GROUP BY named.node ORDER BY sum(counted.memories), named.node LIMIT {MAX_TELLING}
            ),
            sharing AS MATERIALIZED (
                SELECT DISTINCT weighed.node, weighed.weight, latest.memory_id
                FROM weighed JOIN named USING (node)
                CROSS JOIN LATERAL (
                    SELECT n.memory_id FROM (
                        SELECT n.memory_id FROM mentions n
                        WHERE {self._mine("n", agent_id, p)} AND n.entity_id = named.id AND {others}
                        ORDER BY n.memory_id DESC LIMIT {MAX_LOOKED}
                    ) AS n
                    CROSS JOIN LATERAL ({self._memory("", agent_id, "n.memory_id", seen, p)}) AS m
                    ORDER BY n.memory_id DESC LIMIT {MAX_LATEST}
                ) AS latest
            ),
            scored AS MATERIALIZED (
                SELECT memory_id, sum(weight ORDER BY weight, node) AS score,
                    array_agg(node ORDER BY weight DESC, node) AS shared
                FROM sharing GROUP BY memory_id
                ORDER BY score DESC, memory_id DESC LIMIT {p(limit, "int")} + 1
            )
            {self._portion("scored", columns, "score DESC, id DESC", agent_id, seen, limit, p)}
            """,
            *p.values,
        )
        return shown(rows)

    async def backlinks(
        self,
        agent_id: UUID,
        memory_id: UUID,
        entities: Sequence[Entity],
        seen: Visibility,
        *,
        limit: int,
        after: UUID | None,
    ) -> tuple[list[dict[str, Any]], bool]:
        """What names any of these entities of a memory, the latest to arrive first, after one."""
        p = Parameters()
        others = f"n.memory_id <> {p(memory_id, 'uuid')}"
        if after is not None:
            others += f" AND n.memory_id < {p(after, 'uuid')}"
        rows = await self._driver.fetch(
            f"""
            WITH named AS MATERIALIZED ({_named(entities, p)}),
            found AS MATERIALIZED (
                SELECT DISTINCT latest.memory_id
                FROM named CROSS JOIN LATERAL (
                    SELECT n.memory_id FROM mentions n
                    CROSS JOIN LATERAL ({self._memory("", agent_id, "n.memory_id", seen, p)}) AS m
                    WHERE {self._mine("n", agent_id, p)} AND n.entity_id = named.id AND {others}
                    ORDER BY n.memory_id DESC LIMIT {p(limit, "int")} + 1
                ) AS latest
                ORDER BY latest.memory_id DESC LIMIT {p(limit, "int")} + 1
            )
            {self._portion("found", WIRE_COLUMNS, "id DESC", agent_id, seen, limit, p)}
            """,
            *p.values,
        )
        return shown(rows)

    async def timeline(
        self,
        agent_id: UUID,
        entity: Entity,
        seen: Visibility,
        *,
        newest: bool,
        limit: int,
        after: tuple[datetime, UUID] | None,
    ) -> tuple[list[dict[str, Any]], bool]:
        """What names an entity, by when it began and then by its id, after one. Reads what names it, in narrow rows;
        of the memories themselves only those of the page."""
        p = Parameters()
        way = "DESC" if newest else "ASC"
        beyond = ""
        if after is not None:
            last = f"({p(after[0], 'timestamptz')}, {p(after[1], 'uuid')})"
            beyond = f"WHERE (m.valid_from, n.memory_id) {'<' if newest else '>'} {last}"
        rows = await self._driver.fetch(
            f"""
            WITH named AS MATERIALIZED ({_named([entity], p)}),
            found AS MATERIALIZED (
                SELECT n.memory_id
                FROM (
                    SELECT DISTINCT n.memory_id FROM named
                    JOIN mentions n ON {self._mine("n", agent_id, p)} AND n.entity_id = named.id
                ) AS n
                CROSS JOIN LATERAL ({self._memory("m.valid_from", agent_id, "n.memory_id", seen, p)}) AS m
                {beyond}
                ORDER BY m.valid_from {way}, n.memory_id {way} LIMIT {p(limit, "int")} + 1
            )
            {self._portion("found", WIRE_COLUMNS, f"valid_from {way}, id {way}", agent_id, seen, limit, p)}
            """,
            *p.values,
        )
        return shown(rows)

    def _mine(self, alias: str, agent_id: UUID, p: Parameters) -> str:
        return f"{alias}.agent_id = {p(agent_id, 'uuid')} AND {alias}.tenant_id = {p(self._tenant_id, 'uuid')}"

    def _memory(self, columns: str, agent_id: UUID, id: str, seen: Visibility, p: Parameters) -> str:
        """The memory of an id, where it is seen. One at most, and the planner is told so: it looks each up."""
        return (
            f"SELECT {columns} FROM {seen.memories(p)} m"
            f" WHERE {self._mine('m', agent_id, p)} AND m.id = {id} AND {seen.sql('m', p)} LIMIT 1"
        )

    def _portion(
        self, found: str, columns: str, order: str, agent_id: UUID, seen: Visibility, limit: int, p: Parameters
    ) -> str:
        memory = self._memory(WIRE_COLUMNS, agent_id, "found.memory_id", seen, p)
        return portion(
            f"SELECT * FROM {found} AS found CROSS JOIN LATERAL ({memory}) AS m ORDER BY {order}",
            columns=columns,
            size=WIRE_BYTES,
            order=order,
            limit=p(limit, "int"),
        )


def _named(entities: Sequence[Entity], p: Parameters) -> str:
    """The ids of nodes: node, id."""
    nodes = [entity.id for entity in entities for _ in entity.ids]
    ids = [id for entity in entities for id in entity.ids]
    return f"SELECT * FROM unnest({p(nodes, 'uuid[]')}, {p(ids, 'uuid[]')}) AS named (node, id)"


def names_of(row: Mapping[str, Any], entities: Mapping[UUID, Entity]) -> list[str]:
    """The names of what a related memory shares."""
    return [entities[id].display_name for id in row["shared"]]
