"""Links by theme of a memory whose text changes: those of the old text go, and are kept as what was known."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.graph.history import archived, changed_at
from engram.tenants.scope import Scope

_FORGET = f"""
    WITH near AS MATERIALIZED (
        SELECT o.source_id, o.target_id, o.relation_type FROM edges o
        WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.source_id = $3 AND o.invalidated_at IS NULL
        UNION ALL
        SELECT i.source_id, i.target_id, i.relation_type FROM edges i
        WHERE i.agent_id = $1 AND i.tenant_id = $2 AND i.target_id = $3 AND i.invalidated_at IS NULL
    ),
    standing AS MATERIALIZED (
        SELECT e.*, {changed_at("e", "$4::timestamptz")} AS changed_at
        FROM near n
        JOIN edges e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = n.source_id
            AND e.target_id = n.target_id AND e.relation_type = n.relation_type
        WHERE e.origin = 'thematic' AND e.invalidated_at IS NULL
        ORDER BY e.source_id, e.target_id, e.relation_type
        FOR UPDATE OF e
    ),
    kept AS ({archived("standing")})
    DELETE FROM edges e USING standing s
    WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = s.source_id AND e.target_id = s.target_id
        AND e.relation_type = s.relation_type
"""


class ThematicLinks:
    """Links that we found; what a client asserted or deleted is left alone."""

    async def forget(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID, now: datetime
    ) -> None:
        """Take a memory's links away, known until ``now``: its new text may be near others.

        A link that a client deleted stays deleted, and one that it asserted stands.
        """
        await driver(connection).execute(_FORGET, agent_id, scope.tenant_id, memory_id, now)
