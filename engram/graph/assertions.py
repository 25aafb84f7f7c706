"""SQL of edges that clients assert and take back. What an edge was before it changes is kept in the same transaction.

An assertion that gives a beginning where a gap lies between its window and the one that stands tells of another period:
both hold. Windows that meet become one, and one that overlaps what stands corrects it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.graph.history import IN_ORDER, OR_LOCKED, archived, changed_at, known_from
from engram.graph.relations import UNDIRECTED
from engram.graph.schemas import EdgeCreate, RelationType
from engram.tenants.scope import Scope

Key = tuple[UUID, UUID, str]

_NOW = "$11::timestamptz"

_WANTED = """
    SELECT * FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::float8[], $7::text[], $8::text[],
        $9::timestamptz[], $10::timestamptz[])
        AS w (source_id, target_id, relation_type, weight, label, reason, valid_from, valid_until)
"""

_INSERT = f"""
    INSERT INTO edges AS edge (
        agent_id, tenant_id, source_id, target_id, relation_type, weight, origin, label, reason, valid_from,
        valid_until, recorded_at, updated_at
    )
    SELECT $1, $2, new.source_id, new.target_id, new.relation_type, new.weight, 'asserted', new.label, new.reason,
        new.valid_from, new.valid_until, {_NOW}, {known_from("new", _NOW)}
    FROM ({_WANTED}) AS new
    ORDER BY {IN_ORDER}
    {OR_LOCKED}
    RETURNING source_id, target_id, relation_type
"""

_MERGE = f"""
    WITH standing AS MATERIALIZED (
        SELECT e.*, {changed_at("e", _NOW)} AS changed_at, e.invalidated_at IS NULL AS stands,
            w.weight AS new_weight, w.label AS new_label, w.reason AS new_reason,
            coalesce(w.valid_from, CASE WHEN e.invalidated_at IS NULL THEN e.valid_from END) AS begins,
            CASE WHEN e.invalidated_at IS NOT NULL OR w.valid_until IS NOT NULL THEN w.valid_until
                 WHEN w.valid_from >= e.valid_until THEN NULL
                 ELSE e.valid_until END AS ends
        FROM ({_WANTED}) AS w
        JOIN edges e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = w.source_id
            AND e.target_id = w.target_id AND e.relation_type = w.relation_type
        ORDER BY e.source_id, e.target_id, e.relation_type
        FOR UPDATE OF e
    ),
    said AS MATERIALIZED (
        SELECT s.*, (s.begins >= s.ends) IS TRUE AS impossible,
            CASE WHEN (s.begins >= s.ends) IS TRUE THEN 'empty' ELSE tstzrange(s.begins, s.ends) END AS window,
            CASE WHEN s.stands THEN coalesce(s.earlier, '{{}}') ELSE '{{}}' END AS before
        FROM standing s
    ),
    joined AS MATERIALIZED (
        SELECT s.*, CASE WHEN s.stands AND NOT s.window && tstzrange(s.valid_from, s.valid_until)
            THEN s.before + tstzmultirange(tstzrange(s.valid_from, s.valid_until)) + tstzmultirange(s.window)
            END AS periods
        FROM said s
    ),
    merged AS MATERIALIZED (
        SELECT j.*, last.period AS period,
            nullif(coalesce(j.periods, j.before) - tstzmultirange(last.period), '{{}}') AS others,
            CASE WHEN j.stands THEN greatest(j.new_weight, j.weight) ELSE j.new_weight END AS kept_weight,
            coalesce(j.new_label, CASE WHEN j.stands THEN j.label END) AS kept_label,
            coalesce(j.new_reason, CASE WHEN j.stands THEN j.reason END) AS kept_reason,
            CASE WHEN j.stands AND j.origin = 'supersession' THEN j.origin ELSE 'asserted' END AS kept_origin
        FROM joined j
        CROSS JOIN LATERAL (
            SELECT coalesce((SELECT r FROM unnest(j.periods) AS r ORDER BY r DESC LIMIT 1), j.window) AS period
        ) AS last
    ),
    changing AS MATERIALIZED (
        SELECT * FROM merged m
        WHERE NOT m.impossible AND (
            NOT m.stands
            OR (m.weight, m.label, m.reason, m.origin, m.valid_from, m.valid_until, m.earlier) IS DISTINCT FROM
                (m.kept_weight, m.kept_label, m.kept_reason, m.kept_origin, lower(m.period), upper(m.period), m.others)
        )
    ),
    kept AS ({archived("changing")}),
    changed AS (
        UPDATE edges e SET weight = c.kept_weight, label = c.kept_label, reason = c.kept_reason,
            origin = c.kept_origin, valid_from = lower(c.period), valid_until = upper(c.period), earlier = c.others,
            recorded_at = CASE WHEN c.stands THEN c.recorded_at ELSE c.changed_at END,
            updated_at = c.changed_at, invalidated_at = NULL
        FROM changing c
        WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = c.source_id AND e.target_id = c.target_id
            AND e.relation_type = c.relation_type
    )
    SELECT source_id, target_id, relation_type, impossible, stands FROM merged
"""

_READ = """
    SELECT e.source_id, e.target_id, e.relation_type, e.weight, e.origin, e.label, e.reason, e.valid_from,
        e.valid_until, e.recorded_at
    FROM unnest($3::uuid[], $4::uuid[], $5::text[]) AS w (source_id, target_id, relation_type)
    JOIN edges e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = w.source_id
        AND e.target_id = w.target_id AND e.relation_type = w.relation_type
"""

_INVALIDATE = f"""
    WITH standing AS MATERIALIZED (
        SELECT e.*, {changed_at("e", "$6::timestamptz")} AS changed_at FROM edges e
        WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = $3 AND e.target_id = $4
            AND e.relation_type = $5 AND e.invalidated_at IS NULL
        FOR UPDATE
    ),
    kept AS ({archived("standing")})
    UPDATE edges e SET invalidated_at = s.changed_at, updated_at = s.changed_at FROM standing s
    WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.source_id = s.source_id AND e.target_id = s.target_id
        AND e.relation_type = s.relation_type
    RETURNING e.invalidated_at
"""


class ImpossibleWindow(Exception):
    """An assertion, by its place, would leave its edge with an end that is not after its beginning."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


@dataclass(frozen=True, slots=True)
class Asserted:
    """An edge as an assertion left it, seen from the assertion's source."""

    row: dict[str, Any]
    created: bool


def stored_ends(source: UUID, target: UUID, relation: RelationType) -> tuple[UUID, UUID]:
    """The ends as stored: a relation without direction has the lesser id first, so that it is one row."""
    return (target, source) if relation in UNDIRECTED and target < source else (source, target)


def key_of(edge: EdgeCreate) -> Key:
    """What names the row of an edge within its agent."""
    return *stored_ends(UUID(edge.source_id), UUID(edge.target_id), edge.relation_type), edge.relation_type.value


class EdgeAssertions:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def write(self, agent_id: UUID, edges: Sequence[EdgeCreate], now: datetime) -> list[Asserted]:
        """Write what is asserted, in order; how each edge stands after all of it, and whether it is new.

        Of an edge that stands the greater weight stays, and what is not said anew; one that was deleted comes back as
        if it were new. Raises ImpossibleWindow.
        """
        keys = [key_of(edge) for edge in edges]
        new: set[Key] = set()
        for places in _rounds(keys):
            new |= await self._write(agent_id, {keys[place]: (place, edges[place]) for place in places}, now)
        distinct = sorted(set(keys))
        rows = await self._driver.fetch(_READ, agent_id, self._tenant_id, *_columns(distinct))
        written = {(row["source_id"], row["target_id"], row["relation_type"]): row for row in rows}
        return [Asserted(_seen(written[key], edge), key in new) for key, edge in zip(keys, edges, strict=True)]

    async def _write(self, agent_id: UUID, wanted: dict[Key, tuple[int, EdgeCreate]], now: datetime) -> set[Key]:
        asked = [edge for _, edge in wanted.values()]
        values = (
            agent_id,
            self._tenant_id,
            *_columns(list(wanted)),
            [edge.weight for edge in asked],
            [edge.label for edge in asked],
            [edge.reason for edge in asked],
            [edge.valid_from for edge in asked],
            [edge.valid_until for edge in asked],
            now,
        )
        new = {tuple(row) for row in await self._driver.fetch(_INSERT, *values)}
        for *parts, impossible, stands in await self._driver.fetch(_MERGE, *values):
            key = (parts[0], parts[1], parts[2])
            if impossible:
                raise ImpossibleWindow(wanted[key][0])
            if not stands:
                new.add(key)
        return new

    async def invalidate(
        self, agent_id: UUID, source: UUID, target: UUID, relation: RelationType, now: datetime
    ) -> datetime | None:
        """Close an edge. Since when it is closed; None where none stands."""
        ends = stored_ends(source, target, relation)
        closed: datetime | None = await self._driver.fetchval(
            _INVALIDATE, agent_id, self._tenant_id, *ends, relation.value, now
        )
        return closed


def _rounds(keys: Sequence[Key]) -> Iterator[list[int]]:
    """Places of keys, each key once a round. The first round names them all, and so locks all in order."""
    seen: dict[Key, int] = {}
    rounds: list[list[int]] = []
    for place, key in enumerate(keys):
        round = seen[key] = seen.get(key, -1) + 1
        if round == len(rounds):
            rounds.append([])
        rounds[round].append(place)
    yield from rounds


def _columns(keys: Sequence[Key]) -> tuple[list[UUID], list[UUID], list[str]]:
    return [source for source, _, _ in keys], [target for _, target, _ in keys], [relation for _, _, relation in keys]


def _seen(row: Any, edge: EdgeCreate) -> dict[str, Any]:
    direction = "both" if edge.relation_type in UNDIRECTED else "out"
    ends = {"source_id": UUID(edge.source_id), "target_id": UUID(edge.target_id)}
    return {**row, **ends, "direction": direction}
