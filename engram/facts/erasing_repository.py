"""SQL that erases facts. Scope: every statement names the tenant and the agent, which the caller holds alone."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.moments import aware
from engram.tenants.scope import Scope


@dataclass(frozen=True, slots=True)
class Sourced:
    """A fact that names a memory as its source."""

    id: UUID
    slot: UUID
    nodes: tuple[UUID, UUID]
    valid_from: datetime
    sources: list[str]
    elsewhere: bool
    """Another memory is its source too."""


class ErasingRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def stated_by(self, agent_id: UUID, memory_id: UUID, most: int) -> list[Sourced]:
        """Facts in any state that name a memory, by id; at most so many."""
        rows = await self._driver.fetch(
            """
            SELECT f.id, f.slot, f.subject_node, f.object_node, f.valid_from, f.sources, EXISTS (
                SELECT FROM fact_memories o
                WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.fact_id = f.id AND o.memory_id <> $3
            ) AS elsewhere
            FROM fact_memories s
            JOIN facts f ON f.agent_id = $1 AND f.tenant_id = $2 AND f.id = s.fact_id
            WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.memory_id = $3
            ORDER BY s.fact_id LIMIT $4
            """,
            agent_id,
            self._tenant_id,
            memory_id,
            most,
        )
        return [
            Sourced(
                id=row["id"],
                slot=row["slot"],
                nodes=(row["subject_node"], row["object_node"]),
                valid_from=aware(row["valid_from"]),
                sources=row["sources"],
                elsewhere=row["elsewhere"],
            )
            for row in rows
        ]

    async def unname(self, agent_id: UUID, memory_id: UUID, sources: Sequence[tuple[UUID, list[str]]]) -> None:
        """Give facts these sources, without a memory that they named."""
        await self._driver.execute(
            """
            UPDATE facts f SET sources = ARRAY(SELECT jsonb_array_elements_text(new.sources::jsonb))
            FROM unnest($3::uuid[], $4::text[]) AS new (id, sources)
            WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.id = new.id
            """,
            agent_id,
            self._tenant_id,
            [fact_id for fact_id, _ in sources],
            [json.dumps(left) for _, left in sources],
        )
        await self._driver.execute(
            """
            DELETE FROM fact_memories
            WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3 AND fact_id = ANY ($4::uuid[])
            """,
            agent_id,
            self._tenant_id,
            memory_id,
            [fact_id for fact_id, _ in sources],
        )

    async def erase(self, agent_id: UUID, ids: Sequence[UUID]) -> None:
        """Facts, with what was believed of them and what they were tied to."""
        for table, key in (("fact_closures", "fact_id"), ("fact_memories", "fact_id"), ("facts", "id")):
            await self._driver.execute(
                f"DELETE FROM {table} WHERE agent_id = $1 AND tenant_id = $2 AND {key} = ANY ($3::uuid[])",
                agent_id,
                self._tenant_id,
                list(ids),
            )

    async def erase_words(self, agent_id: UUID, nodes: Collection[UUID]) -> None:
        """Words of those of these nodes that no fact names any more."""
        await self._driver.execute(
            """
            DELETE FROM fact_words w
            WHERE w.agent_id = $1 AND w.tenant_id = $2 AND w.node = ANY ($3::uuid[])
                AND NOT EXISTS (
                    SELECT FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.subject_node = w.node
                )
                AND NOT EXISTS (
                    SELECT FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.object_node = w.node
                )
            """,
            agent_id,
            self._tenant_id,
            list(nodes),
        )

    async def erase_slots(self, agent_id: UUID, slots: Collection[UUID]) -> None:
        """Those of these slots that hold no facts any more."""
        await self._driver.execute(
            """
            DELETE FROM fact_slots s
            WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.slot = ANY ($3::uuid[]) AND NOT EXISTS (
                SELECT FROM facts f WHERE f.agent_id = $1 AND f.tenant_id = $2 AND f.slot = s.slot
            )
            """,
            agent_id,
            self._tenant_id,
            list(slots),
        )

    async def erase_answers(self, agent_id: UUID, spellings: Collection[str]) -> None:
        """The answers that are kept for repeated requests and hold one of these texts."""
        for text in sorted(spellings):
            await self._driver.execute(
                """
                DELETE FROM idempotency_keys
                WHERE tenant_id = $2 AND agent_id = $1 AND position(convert_to($3, 'UTF8') IN body) > 0
                """,
                agent_id,
                self._tenant_id,
                json.dumps(text, ensure_ascii=False)[1:-1],
            )
