"""SQL of what tells of an entity. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope

MAX_LOOKED_AT = 2_000
"""Of the memories that name an entity, so many are looked at, the latest: what makes its text is among these."""

MAX_COMPARED = 50
"""Of these, so many are compared by how many others they name."""

MADE_OF = 3
"""Memories of which a text is made."""

SETTLED = 64
"""An entity that so many memories name is not looked at again because more do."""

MAX_CHARS = 4_000
"""Of the beginning of a memory in which the name is looked for."""

# Whose text may be embedded with a name. ``g`` has the entity and the user, ``n`` the memory.
_TELLS = """
    m.agent_id = $1 AND m.tenant_id = $2 AND m.id = n.memory_id AND m.status = 'current'
    AND m.sensitivity = 'normal' AND NOT m.withheld AND (m.valid_until IS NULL OR m.valid_until > now())
    AND coalesce(m.user_id, '') = g.user_id
"""

NAMED = """
    SELECT DISTINCT n.entity_id, coalesce(m.user_id, '') AS user_id
    FROM mentions n
    JOIN memories m ON m.agent_id = $1 AND m.tenant_id = $2 AND m.id = n.memory_id
    WHERE n.agent_id = $1 AND n.tenant_id = $2 AND n.memory_id = ANY ($3::uuid[])
"""
"""Columns entity_id and user_id of what the memories ``$3`` name, each for its user."""

TELLING = f"""
    SELECT n.memory_id, n.is_subject, m.version, m.content
    FROM (
        SELECT n.memory_id, n.is_subject FROM mentions n
        WHERE n.agent_id = $1 AND n.tenant_id = $2 AND n.entity_id = g.entity_id
        ORDER BY n.memory_id DESC LIMIT {MAX_LOOKED_AT:d}
    ) AS n
    CROSS JOIN LATERAL (SELECT m.version, m.content FROM memories m WHERE {_TELLS} LIMIT 1) AS m
"""
"""Columns memory_id, is_subject, version and content of the memories that tell of an entity, the latest first."""


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """An entity, as the memories of one user name it: those without one where ``user_id`` is empty."""

    entity_id: UUID
    user_id: str


@dataclass(frozen=True, slots=True)
class Telling:
    """What tells of an entity: memories with their versions, the most telling first, and the beginnings of these."""

    group: Group
    name: str
    display_name: str
    mentions: int
    """How many memories name it, up to ``SETTLED``."""
    memories: list[tuple[UUID, int]]
    contents: list[str]
    digest: bytes | None
    """Of the text that stands embedded, if one does."""


class TellingRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope, agent_id: UUID) -> None:
        self._driver = driver(connection)
        self._of_agent = (agent_id, scope.tenant_id)

    async def named(self, memory_ids: Sequence[UUID], *, due: bool) -> list[Group]:
        """What these memories name, each for its user; with ``due`` only what has no vector, or is named by twice as
        many memories as when it was made."""
        rows = await self._driver.fetch(
            f"""
            SELECT g.entity_id, g.user_id
            FROM ({NAMED}) AS g
            LEFT JOIN entity_vectors v ON v.agent_id = $1 AND v.tenant_id = $2
                AND v.entity_id = g.entity_id AND v.user_id = g.user_id
            WHERE NOT $4 OR v.entity_id IS NULL OR (v.mentions < {SETTLED:d} AND (
                SELECT count(*) FROM ({TELLING} LIMIT 2 * v.mentions) AS telling
            ) >= 2 * v.mentions)
            ORDER BY g.entity_id, g.user_id
            """,
            *self._of_agent,
            list(memory_ids),
            due,
        )
        return [Group(row["entity_id"], row["user_id"]) for row in rows]

    async def telling(self, groups: Sequence[Group]) -> list[Telling]:
        """What tells of each, in the order of the groups. First come memories about the entity, then those that name
        the fewest others, then the latest."""
        rows = await self._driver.fetch(
            f"""
            SELECT g.entity_id, g.user_id, e.name, e.display_name, v.digest, counted.mentions,
                best.ids, best.versions, best.contents
            FROM unnest($3::uuid[], $4::text[]) WITH ORDINALITY AS g (entity_id, user_id, place)
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = g.entity_id
            LEFT JOIN entity_vectors v ON v.agent_id = $1 AND v.tenant_id = $2
                AND v.entity_id = g.entity_id AND v.user_id = g.user_id
            CROSS JOIN LATERAL (
                SELECT count(*)::int AS mentions FROM ({TELLING} LIMIT {SETTLED:d}) AS telling
            ) AS counted
            CROSS JOIN LATERAL (
                SELECT array_agg(memory_id ORDER BY place) AS ids, array_agg(version ORDER BY place) AS versions,
                    array_agg(left(content, {MAX_CHARS:d}) ORDER BY place) AS contents
                FROM (
                    SELECT memory_id, version, content,
                        row_number() OVER (ORDER BY is_subject DESC, others, memory_id DESC) AS place
                    FROM (
                        SELECT telling.*, (
                            SELECT count(*) FROM mentions o
                            WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.memory_id = telling.memory_id
                        ) AS others
                        FROM ({TELLING} ORDER BY n.is_subject DESC, n.memory_id DESC LIMIT {MAX_COMPARED:d}) AS telling
                    ) AS compared
                    ORDER BY place LIMIT {MADE_OF:d}
                ) AS placed
            ) AS best
            ORDER BY g.place
            """,
            *self._of_agent,
            [group.entity_id for group in groups],
            [group.user_id for group in groups],
        )
        return [
            Telling(
                group=Group(row["entity_id"], row["user_id"]),
                name=row["name"],
                display_name=row["display_name"],
                mentions=row["mentions"],
                memories=list(zip(row["ids"] or (), row["versions"] or (), strict=True)),
                contents=row["contents"] or [],
                digest=row["digest"],
            )
            for row in rows
        ]
