"""Edges from a memory to those that it replaces, drawn and closed in the transaction that replaces them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.graph.history import IN_ORDER, OR_LOCKED, archived, changed_at, known_from
from engram.tenants.scope import Scope

Replaced = tuple[UUID, UUID, datetime]
"""``(new_id, old_id, at)``: what replaces, what is replaced, and the instant from which it is or ceases to be."""

_WANTED = """
    SELECT w.source_id, w.target_id, 'supersedes' AS relation_type, w.at
    FROM unnest($3::uuid[], $4::uuid[], $5::timestamptz[]) AS w (source_id, target_id, at)
"""

_DRAW = f"""
    INSERT INTO edges AS edge (
        agent_id, tenant_id, source_id, target_id, relation_type, weight, origin, valid_from, recorded_at, updated_at
    )
    SELECT $1, $2, new.source_id, new.target_id, new.relation_type, 1, 'supersession', new.at, $6::timestamptz,
        {known_from("new", "$6::timestamptz")}
    FROM ({_WANTED}) AS new
    ORDER BY {IN_ORDER}
    {OR_LOCKED}
"""

_STANDING = f"""
    standing AS MATERIALIZED (
        SELECT e.*, w.at, {changed_at("e", "$6::timestamptz")} AS changed_at,
            CASE WHEN e.invalidated_at IS NULL THEN coalesce(e.earlier, '{{}}') ELSE '{{}}' END AS before
        FROM ({_WANTED}) AS w
        JOIN edges e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = w.source_id
            AND e.target_id = w.target_id AND e.relation_type = w.relation_type
        ORDER BY e.source_id, e.target_id, e.relation_type
        FOR UPDATE OF e
    )
"""

_SAME_EDGE = (
    "e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = s.source_id AND e.target_id = s.target_id"
    " AND e.relation_type = s.relation_type"
)

_REDRAW = f"""
    WITH {_STANDING},
    changing AS MATERIALIZED (
        SELECT * FROM standing
        WHERE invalidated_at IS NOT NULL OR valid_until IS NOT NULL OR valid_from IS DISTINCT FROM at OR weight < 1
            OR origin <> 'supersession'
    ),
    kept AS ({archived("changing")})
    UPDATE edges e SET weight = 1, origin = 'supersession', valid_from = s.at, valid_until = NULL,
        earlier = nullif(
            (s.before + CASE WHEN s.invalidated_at IS NOT NULL OR s.valid_until IS NULL THEN '{{}}'
                             ELSE tstzmultirange(tstzrange(s.valid_from, s.valid_until)) END)
            * tstzmultirange(tstzrange(NULL, s.at)),
            '{{}}'
        ),
        label = CASE WHEN s.invalidated_at IS NULL THEN s.label END,
        reason = CASE WHEN s.invalidated_at IS NULL THEN s.reason END,
        recorded_at = CASE WHEN s.invalidated_at IS NULL THEN s.recorded_at ELSE s.changed_at END,
        updated_at = s.changed_at, invalidated_at = NULL
    FROM changing s WHERE {_SAME_EDGE}
"""

_CLOSE = f"""
    WITH {_STANDING},
    changing AS MATERIALIZED (
        SELECT s.*, remaining.ranges, (SELECT r FROM unnest(remaining.ranges) AS r ORDER BY r DESC LIMIT 1) AS last
        FROM standing s
        CROSS JOIN LATERAL (
            SELECT (s.before + tstzmultirange(tstzrange(s.valid_from, s.valid_until)))
                * tstzmultirange(tstzrange(NULL, s.at)) AS ranges
        ) AS remaining
        WHERE s.invalidated_at IS NULL AND (s.valid_until IS NULL OR s.valid_until > s.at)
    ),
    kept AS ({archived("changing")})
    UPDATE edges e SET
        valid_from = CASE WHEN s.last IS NULL THEN s.valid_from ELSE lower(s.last) END,
        valid_until = CASE WHEN s.last IS NULL THEN s.valid_until ELSE upper(s.last) END,
        earlier = CASE WHEN s.last IS NULL THEN s.earlier
                       ELSE nullif(s.ranges - tstzmultirange(s.last), '{{}}') END,
        invalidated_at = CASE WHEN s.last IS NULL THEN s.changed_at END,
        updated_at = s.changed_at
    FROM changing s WHERE {_SAME_EDGE}
"""


class SupersessionEdges:
    """The edges "new SUPERSEDES old" of weight 1 and origin ``supersession``.

    Their windows say when the one has replaced the other. What an edge was before it changes is kept.
    """

    async def draw(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        replaced: Sequence[Replaced],
        now: datetime | None = None,
    ) -> None:
        """Each holds from its instant on, without end.

        Of an edge that is there, a window that was closed goes to ``earlier``, and one that is open begins at the new
        instant; one that was invalidated comes back as if it were new. Both memories are there, in rows that this
        transaction sees. ``now`` is when the change is known from.
        """
        asked = _arguments(scope, agent_id, replaced, now)
        await driver(connection).execute(_DRAW, *asked)
        await driver(connection).execute(_REDRAW, *asked)

    async def close(
        self,
        connection: AsyncConnection,
        scope: Scope,
        agent_id: UUID,
        replaced: Sequence[Replaced],
        now: datetime | None = None,
    ) -> None:
        """Each ceases to hold at its instant. One that then has held at no time is invalidated.

        Edges that are not there, or that had ended by then, stay as they are.
        """
        await driver(connection).execute(_CLOSE, *_arguments(scope, agent_id, replaced, now))


def _arguments(
    scope: Scope, agent_id: UUID, replaced: Sequence[Replaced], now: datetime | None
) -> tuple[UUID, UUID, list[UUID], list[UUID], list[datetime], datetime]:
    pairs = {(new, old): at for new, old, at in replaced}
    return agent_id, scope.tenant_id, [n for n, _ in pairs], [o for _, o in pairs], [*pairs.values()], now or _now()


def _now() -> datetime:
    return datetime.now(UTC)
