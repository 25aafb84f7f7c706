"""The edges of one memory, as one statement: those in force, and where asked for those that have closed.

An edge is in force at an instant where its own window covers that and both of its ends hold then. One that says
"supersedes" asks its own window only: what replaces and what is replaced never hold together. What was deleted is no
end of anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from engram.graph.known import edges
from engram.graph.neighbours import COLUMNS, Neighbourhood

MAX_EDGES = 10_000
"""Edges of one kind that a listing looks at, strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeFilter:
    """Which edges are shown. ``include_closed``: also those that were invalidated, that have ended, or of which an end
    no longer holds; where an instant is asked for, of those that had begun by then."""

    directions: tuple[str, ...] = ("out", "in", "both")
    min_weight: float = 0.0
    label: str | None = None
    origins: list[str] | None = None
    include_closed: bool = False


After = tuple[float, str, UUID, str]
"""Weight, relation, target and direction of the last edge of a page."""


def listing(memory_id: UUID, around: Neighbourhood, wanted: EdgeFilter, *, limit: int, after: After | None) -> str:
    """Edges of a memory, each once and seen from it, strongest first. The memory may have ceased to hold."""
    p, visibility = around.p, around.visibility
    clauses = [
        f"weight >= {p(wanted.min_weight, 'float8')}",
        f"direction = ANY ({p(list(wanted.directions), 'text[]')})",
    ]
    if wanted.label is not None:
        clauses.append(f"label = {p(wanted.label, 'text')}")
    if wanted.origins is not None:
        clauses.append(f"origin = ANY ({p(wanted.origins, 'text[]')})")
    if after is not None:
        last_weight, relation, last, direction = after
        clauses.append(
            f"(-weight, relation_type, target_id, direction) >"
            f" ({p(-last_weight, 'float8')}, {p(relation, 'text')}, {p(last, 'uuid')}, {p(direction, 'text')})"
        )
    return f"""
        WITH centre AS MATERIALIZED (
            SELECT m.id, m.status, m.valid_until, ({visibility.holding("m", p)}) AS holds,
                ({_begun(around)}) AS begun
            FROM {visibility.memories(p)} m
            WHERE {around.mine("m")} AND m.id = {p(memory_id, "uuid")} AND m.status <> 'deleted'
            LIMIT 1
        ),
        asked AS MATERIALIZED (SELECT id, 1::float8 AS score FROM centre WHERE holds),
        found AS MATERIALIZED (
            SELECT DISTINCT ON (relation_type, target_id, direction) edge.*
            FROM (
                {_stored(around, wanted, "source_id", "target_id")}
                UNION ALL
                {_stored(around, wanted, "target_id", "source_id")}
                UNION ALL
                SELECT {COLUMNS}, NULL::timestamptz AS invalidated_at, true AS open
                FROM ({around.computed("asked")}) AS computed
            ) AS edge
            ORDER BY relation_type, target_id, direction, open DESC, weight DESC, origin
        )
        SELECT found.*, e.display_name AS entity
        FROM found
        LEFT JOIN entities e ON {around.mine("e")} AND e.id = found.entity_id
        WHERE {" AND ".join(clauses)}
        ORDER BY weight DESC, relation_type, target_id, direction
        LIMIT {p(limit, "int")}
    """


def _begun(around: Neighbourhood) -> str:
    if around.visibility.as_of is None:
        return "true"
    return f"least(m.valid_from, lower(m.earlier)) <= {around.p(around.visibility.moment, 'timestamptz')}"


def _stored(around: Neighbourhood, wanted: EdgeFilter, near: str, far: str) -> str:
    p, visibility = around.p, around.visibility
    names, values = p(list(around.multipliers), "text[]"), p(list(around.multipliers.values()), "float8[]")
    direction = "out" if near == "source_id" else "in"
    in_force = f"(e.invalidated_at IS NULL AND {around.valid('e')})"
    # Filters go beneath the limit: what they hide must not count toward it.
    clauses = [f"e.relation_type = ANY ({names})", f"e.weight >= {p(wanted.min_weight, 'float8')}"]
    if wanted.label is not None:
        clauses.append(f"e.label = {p(wanted.label, 'text')}")
    if wanted.origins is not None:
        clauses.append(f"e.origin = ANY ({p(wanted.origins, 'text[]')})")
    holds = "(e.relation_type = 'supersedes' OR (centre.holds AND other.holds))"
    if not wanted.include_closed:
        clauses += ["e.invalidated_at IS NULL", around.valid("e")]
        shown = holds
    elif visibility.as_of is None:
        shown = "true"
    else:
        at = p(visibility.moment, "timestamptz")
        clauses.append(
            f"(e.valid_from IS NULL OR e.valid_from <= {at} OR lower_inf(e.earlier) OR lower(e.earlier) <= {at})"
        )
        shown = "(e.relation_type = 'supersedes' OR (centre.begun AND other.begun))"
    return f"""
        SELECT centre.id AS source_id, 1::float8 AS source_score, e.far AS target_id, e.relation_type,
            CASE WHEN e.relation_type IN ('thematic', 'contradicts', 'entity_link') THEN 'both'
                 ELSE '{direction}' END AS direction,
            e.weight, ({values})[array_position({names}, e.relation_type)] AS multiplier, e.origin,
            NULL::uuid AS entity_id, e.label, e.reason, e.valid_from,
            CASE WHEN e.relation_type = 'supersedes' THEN e.valid_until
                 ELSE least(e.valid_until, CASE WHEN centre.status = 'superseded' THEN centre.valid_until END,
                     CASE WHEN other.status = 'superseded' THEN other.valid_until END) END AS valid_until,
            e.recorded_at, e.invalidated_at, e.in_force AND {holds} AS open
        FROM centre
        CROSS JOIN LATERAL (
            SELECT e.{far} AS far, e.relation_type, e.weight, e.origin, e.label, e.reason, e.valid_from,
                e.valid_until, e.recorded_at, e.invalidated_at, {in_force} AS in_force
            FROM {edges(visibility.known_at, p)} e
            WHERE {around.mine("e")} AND e.{near} = centre.id AND {" AND ".join(clauses)}
            ORDER BY e.weight DESC, e.{far}
            LIMIT {p(MAX_EDGES, "int")}
        ) AS e
        CROSS JOIN LATERAL (
            SELECT m.status, m.valid_until, ({visibility.holding("m", p)}) AS holds, ({_begun(around)}) AS begun
            FROM {visibility.memories(p)} m
            WHERE {around.mine("m")} AND m.id = e.far AND m.status <> 'deleted'
            LIMIT 1
        ) AS other
        WHERE {shown}
    """
