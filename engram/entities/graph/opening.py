"""SQL that a question about entities begins with: one statement for what would be three. Scope: the statement names the
tenant and the agent of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.facts.schemas import MAX_MERGES
from engram.tenants.scope import Scope


@dataclass(frozen=True, slots=True)
class Opening:
    """What an agent that is there knows of some names."""

    merges: list[tuple[str, str]]
    """Names of which somebody said that they are one, in the order in which that was said."""
    entities: list[dict[str, Any]]
    """Entities of the names: id, name, display_name."""


class OpeningRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    async def of(self, agent_id: UUID, names: Sequence[str], known_at: datetime | None = None) -> Opening | None:
        """Merges that stand, or stood as far as was known at an instant, and entities by their canonical names; None
        where there is no such agent."""
        rows = await self._driver.fetch(
            f"""
            SELECT 0 AS part, 0 AS place, a.id, NULL AS name, NULL AS other FROM agents a
            WHERE a.id = $1 AND a.tenant_id = $2 AND NOT a.importing AND ($4::uuid IS NULL OR a.id = $4)
            UNION ALL
            SELECT 1, said.place, said.id, said.name, said.other FROM (
                SELECT m.id, m.name, m.other, row_number() OVER (ORDER BY m.recorded_at, m.id) AS place
                FROM fact_merges m WHERE m.agent_id = $1 AND m.tenant_id = $2 AND CASE
                    WHEN $5::timestamptz IS NULL THEN m.undone_at IS NULL
                    ELSE m.recorded_at <= $5 AND (m.undone_at IS NULL OR m.undone_at > $5)
                END
                ORDER BY m.recorded_at, m.id LIMIT {MAX_MERGES:d}
            ) AS said
            UNION ALL
            SELECT 2, 0, e.id, e.name, e.display_name FROM entities e
            WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.name = ANY ($3::text[])
            ORDER BY part, place
            """,
            agent_id,
            self._tenant_id,
            list(names),
            self._only,
            known_at,
        )
        if not rows or rows[0]["part"] != 0:
            return None
        return Opening(
            [(row["name"], row["other"]) for row in rows if row["part"] == 1],
            [{"id": row["id"], "name": row["name"], "display_name": row["other"]} for row in rows if row["part"] == 2],
        )
