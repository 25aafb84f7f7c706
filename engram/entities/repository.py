"""SQL of entities and mentions. Scope: every statement names the agent, whose tenant was checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.entities.recognition import opening
from engram.tenants.scope import Scope

READ_ALL_FROM = 200
"""Names that are read at once rather than looked up: as many as a few lookups cost."""


@dataclass(frozen=True, slots=True)
class Mention:
    memory_id: UUID
    entity_id: UUID
    is_subject: bool
    recognized: bool


class EntityRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def ensure(self, agent_id: UUID, spellings: dict[str, set[str]], ids: dict[str, UUID]) -> dict[str, UUID]:
        """The ids of entities by canonical name. Unknown ones are made, with the ids offered for them.

        ``spellings`` holds, by canonical name, how the name was written; each is kept as an alias.
        """
        names = sorted(spellings)
        await self._driver.execute(
            """
            INSERT INTO entities (agent_id, tenant_id, id, name, display_name, opening)
            SELECT $1, $2, new.id, new.name, new.display_name, new.opening
            FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[]) AS new (id, name, display_name, opening)
            ORDER BY new.name
            ON CONFLICT (agent_id, name) DO NOTHING
            """,
            agent_id,
            self._tenant_id,
            [ids[name] for name in names],
            names,
            [min(spellings[name]) for name in names],
            [opening(name) for name in names],
        )
        rows = await self._driver.fetch(
            "SELECT name, id FROM entities WHERE agent_id = $1 AND name = ANY ($2::text[])", agent_id, names
        )
        known: dict[str, UUID] = {row["name"]: row["id"] for row in rows}
        aliases = sorted((known[name], alias) for name in names for alias in spellings[name])
        await self._driver.execute(
            """
            INSERT INTO entity_aliases (agent_id, tenant_id, entity_id, alias)
            SELECT $1, $2, new.entity_id, new.alias
            FROM unnest($3::uuid[], $4::text[]) AS new (entity_id, alias)
            ORDER BY new.entity_id, new.alias
            ON CONFLICT DO NOTHING
            """,
            agent_id,
            self._tenant_id,
            [entity_id for entity_id, _ in aliases],
            [alias for _, alias in aliases],
        )
        return known

    async def add_mentions(self, agent_id: UUID, mentions: Collection[Mention]) -> set[UUID]:
        """Add mentions, and say of which memories; one that stands is left as it is."""
        # By numbers: to compare UUIDs by themselves takes a call in Python each time.
        rows = sorted(mentions, key=lambda mention: (mention.entity_id.int, mention.memory_id.int))
        added = await self._driver.fetch(
            """
            INSERT INTO mentions (agent_id, tenant_id, entity_id, memory_id, is_subject, recognized)
            SELECT $1, $2, new.entity_id, new.memory_id, new.is_subject, new.recognized
            FROM unnest($3::uuid[], $4::uuid[], $5::bool[], $6::bool[])
                AS new (entity_id, memory_id, is_subject, recognized)
            ORDER BY new.entity_id, new.memory_id
            ON CONFLICT (agent_id, entity_id, memory_id) DO NOTHING
            RETURNING memory_id
            """,
            agent_id,
            self._tenant_id,
            [row.entity_id for row in rows],
            [row.memory_id for row in rows],
            [row.is_subject for row in rows],
            [row.recognized for row in rows],
        )
        return {row["memory_id"] for row in added}

    async def replace_recognized(
        self, agent_id: UUID, memory_ids: Collection[UUID], mentions: Collection[Mention]
    ) -> set[UUID]:
        """Make these the recognised mentions of these memories; declared ones stay. Which memories that changed."""
        # Rows are locked in key order, as add_mentions writes them: two that overlap wait, and do not deadlock.
        removed = await self._driver.fetch(
            """
            DELETE FROM mentions gone
            USING (
                SELECT m.entity_id, m.memory_id
                FROM mentions m
                WHERE m.agent_id = $1 AND m.memory_id = ANY ($2::uuid[]) AND m.recognized
                    AND (m.entity_id, m.memory_id) NOT IN (SELECT * FROM unnest($3::uuid[], $4::uuid[]))
                ORDER BY m.entity_id, m.memory_id
                FOR UPDATE
            ) AS stale
            WHERE gone.agent_id = $1 AND gone.entity_id = stale.entity_id AND gone.memory_id = stale.memory_id
            RETURNING gone.memory_id
            """,
            agent_id,
            list(memory_ids),
            [mention.entity_id for mention in mentions],
            [mention.memory_id for mention in mentions],
        )
        return {row["memory_id"] for row in removed} | await self.add_mentions(agent_id, mentions)

    async def remove_mentions(self, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        # In key order, as replace_recognized.
        await self._driver.execute(
            """
            DELETE FROM mentions gone
            USING (
                SELECT m.entity_id, m.memory_id
                FROM mentions m
                WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.memory_id = ANY ($3::uuid[])
                ORDER BY m.entity_id, m.memory_id
                FOR UPDATE
            ) AS stale
            WHERE gone.agent_id = $1 AND gone.tenant_id = $2
                AND gone.entity_id = stale.entity_id AND gone.memory_id = stale.memory_id
            """,
            agent_id,
            self._tenant_id,
            list(memory_ids),
        )

    async def named_in(self, agent_id: UUID, openings: Set[str]) -> dict[str, UUID]:
        """Entities whose name opens so, by canonical name."""
        # A batch offers more openings than most agents have names: those are read then, in one scan.
        most = len(openings) // 2
        if most >= READ_ALL_FROM:
            rows = await self._driver.fetch(
                "SELECT name, id, opening FROM entities WHERE agent_id = $1 LIMIT $2", agent_id, most + 1
            )
            if len(rows) <= most:
                return {row["name"]: row["id"] for row in rows if row["opening"] in openings}
        rows = await self._driver.fetch(
            "SELECT name, id FROM entities WHERE agent_id = $1 AND opening = ANY ($2::text[])",
            agent_id,
            list(openings),
        )
        return {row["name"]: row["id"] for row in rows}

    async def by_names(self, agent_id: UUID, names: Sequence[str]) -> list[dict[str, Any]]:
        """Entities by their canonical names: id, name, display_name."""
        rows = await self._driver.fetch(
            """
            SELECT id, name, display_name FROM entities
            WHERE agent_id = $1 AND tenant_id = $2 AND name = ANY ($3::text[])
            """,
            agent_id,
            self._tenant_id,
            list(names),
        )
        return [dict(row) for row in rows]

    async def unswept(self, agent_id: UUID, memory_ids: Collection[UUID]) -> dict[str, UUID]:
        """Entities that these memories name and for which earlier memories were not searched yet."""
        rows = await self._driver.fetch(
            """
            SELECT DISTINCT e.name, e.id
            FROM mentions m
            JOIN entities e ON e.agent_id = $1 AND e.id = m.entity_id AND e.swept_at IS NULL
            WHERE m.agent_id = $1 AND m.memory_id = ANY ($2::uuid[])
            """,
            agent_id,
            list(memory_ids),
        )
        return {row["name"]: row["id"] for row in rows}

    async def mark_swept(self, agent_id: UUID, entity_ids: Collection[UUID], now: datetime) -> None:
        await self._driver.execute(
            """
            UPDATE entities SET swept_at = $3
            -- An array of ids is looked up; joined with, it may be compared with all that an agent names.
            WHERE agent_id = $1 AND id = ANY (ARRAY(
                SELECT id FROM entities
                WHERE agent_id = $1 AND id = ANY ($2::uuid[]) AND swept_at IS NULL ORDER BY id FOR UPDATE
            ))
            """,
            agent_id,
            list(entity_ids),
            now,
        )

    async def of_memories(self, agent_id: UUID, memory_ids: Sequence[UUID]) -> dict[UUID, list[dict[str, Any]]]:
        """What each memory names, subjects first, then by name."""
        rows = await self._driver.fetch(
            """
            SELECT m.memory_id, e.display_name AS name, m.is_subject, m.recognized
            FROM mentions m JOIN entities e ON e.agent_id = $1 AND e.id = m.entity_id
            WHERE m.agent_id = $1 AND m.memory_id = ANY ($2::uuid[])
            ORDER BY m.memory_id, m.is_subject DESC, e.name
            """,
            agent_id,
            list(memory_ids),
        )
        found: dict[UUID, list[dict[str, Any]]] = {id: [] for id in memory_ids}
        for row in rows:
            found[row["memory_id"]].append(
                {
                    "name": row["name"],
                    "role": "subject" if row["is_subject"] else "mention",
                    "recognized": row["recognized"],
                }
            )
        return found
