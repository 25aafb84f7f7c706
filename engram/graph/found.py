"""SQL of edges that we found, as they are made anew. Every statement names the agent and its tenant.

Edges are looked up one by one, in the order of their key: so they are locked in it too, and no plan reads the agent's
edges anew for each. One that changes in the same moment is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.graph.history import archived, changed_at
from engram.memories.vectors import VectorIndex
from engram.tenants.scope import Scope

_SAME = 1e-6
"""Weights that differ by less are one, computed in another way."""


@dataclass(frozen=True, slots=True)
class FoundEdge:
    """A thematic edge that we found, and when its ends were last changed."""

    source_id: UUID
    target_id: UUID
    weight: float
    source_updated_at: datetime
    target_updated_at: datetime

    @property
    def ends(self) -> tuple[UUID, UUID]:
        return self.source_id, self.target_id


class FoundEdges:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def between_current(self, agent_id: UUID, sources: Sequence[UUID], index: VectorIndex) -> list[FoundEdge]:
        """Those that stand and whose stored source is one of these, between current memories of the index's model."""
        rows = await self._driver.fetch(
            f"""
            SELECT e.source_id, e.target_id, e.weight, s.updated_at AS source_updated_at,
                t.updated_at AS target_updated_at
            FROM edges e
            JOIN memories s ON s.agent_id = $1 AND s.tenant_id = $3 AND s.id = e.source_id AND s.status = 'current'
                AND {index.of_model("s")}
            JOIN memories t ON t.agent_id = $1 AND t.tenant_id = $3 AND t.id = e.target_id AND t.status = 'current'
                AND {index.of_model("t")}
            WHERE e.agent_id = $1 AND e.tenant_id = $3 AND e.source_id = ANY ($2::uuid[])
                AND e.relation_type = 'thematic' AND e.origin = 'thematic' AND e.invalidated_at IS NULL
            """,
            agent_id,
            list(sources),
            self._tenant_id,
        )
        return [FoundEdge(**dict(row)) for row in rows]

    async def remove(self, agent_id: UUID, edges: Sequence[FoundEdge], now: datetime) -> None:
        """Remove edges, but for those of which an end has changed since, or that somebody asserted or deleted. What
        they were is kept, known until ``now``."""
        await self._driver.execute(
            f"""
            WITH standing AS MATERIALIZED (
                SELECT edge.*, {changed_at("edge", "$7::timestamptz")} AS changed_at
                FROM unnest($3::uuid[], $4::uuid[], $5::timestamptz[], $6::timestamptz[])
                    AS stale (source_id, target_id, source_at, target_at)
                CROSS JOIN LATERAL (
                    SELECT e.*, e.ctid AS place FROM edges e
                    WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = stale.source_id
                        AND e.target_id = stale.target_id AND e.relation_type = 'thematic' AND e.origin = 'thematic'
                        AND e.invalidated_at IS NULL
                    FOR UPDATE
                ) AS edge
                CROSS JOIN LATERAL (
                    SELECT s.updated_at FROM memories s
                    WHERE s.agent_id = $1 AND s.tenant_id = $2 AND s.id = stale.source_id OFFSET 0
                ) AS source
                CROSS JOIN LATERAL (
                    SELECT t.updated_at FROM memories t
                    WHERE t.agent_id = $1 AND t.tenant_id = $2 AND t.id = stale.target_id OFFSET 0
                ) AS target
                WHERE source.updated_at = stale.source_at AND target.updated_at = stale.target_at
            ),
            kept AS ({archived("standing")})
            DELETE FROM edges gone USING standing
            WHERE gone.agent_id = $1 AND gone.tenant_id = $2 AND gone.ctid = standing.place
            """,
            agent_id,
            self._tenant_id,
            *_columns(edges),
            now,
        )

    async def reweigh(self, agent_id: UUID, edges: Sequence[tuple[FoundEdge, float]]) -> None:
        """Set weights, but where the edge has changed since."""
        changed = sorted(
            ((edge, weight) for edge, weight in edges if abs(edge.weight - weight) > _SAME),
            key=lambda one: (one[0].source_id.int, one[0].target_id.int),
        )
        await self._driver.execute(
            """
            WITH held AS MATERIALIZED (
                SELECT edge.place, new.weight
                FROM unnest($3::uuid[], $4::uuid[], $5::float8[], $6::float8[])
                    AS new (source_id, target_id, weight, before)
                CROSS JOIN LATERAL (
                    SELECT e.ctid AS place FROM edges e
                    WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = new.source_id
                        AND e.target_id = new.target_id AND e.relation_type = 'thematic' AND e.origin = 'thematic'
                        AND e.invalidated_at IS NULL AND e.weight = new.before
                    FOR UPDATE
                ) AS edge
            )
            UPDATE edges weighed SET weight = held.weight FROM held
            WHERE weighed.agent_id = $1 AND weighed.tenant_id = $2 AND weighed.ctid = held.place
            """,
            agent_id,
            self._tenant_id,
            [edge.source_id for edge, _ in changed],
            [edge.target_id for edge, _ in changed],
            [weight for _, weight in changed],
            [edge.weight for edge, _ in changed],
        )


def _columns(edges: Sequence[FoundEdge]) -> tuple[list[UUID], list[UUID], list[datetime], list[datetime]]:
    ordered = sorted(edges, key=lambda edge: (edge.source_id.int, edge.target_id.int))
    return (
        [edge.source_id for edge in ordered],
        [edge.target_id for edge in ordered],
        [edge.source_updated_at for edge in ordered],
        [edge.target_updated_at for edge in ordered],
    )
