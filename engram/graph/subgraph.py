"""What surrounds some memories, as one statement: the memories within some hops, and all edges among them.

A hop goes on from what the one before it came to, the strongest first, until there are ``max_nodes`` memories. Each
memory on the way holds at the instant that is asked about. Edges among the memories are looked for from either end, so
that one between a hub and a memory of few edges is found from the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from engram.graph.known import edges
from engram.graph.neighbours import MAX_PROBES, Neighbourhood
from engram.graph.shared_names import SharedNames

MAX_REACHED = 2000
"""Memories that a hop comes to and looks at, the strongest first, for those that may be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far to go: from ``starts``, over edges of at least ``min_weight``, each hop keeping ``keep``."""

    starts: Sequence[UUID]
    hops: int
    keep: float
    max_nodes: int
    min_weight: float = 0.0
    max_stored: int | None = None
    """Of the stored edges so many, the strongest; None: all."""


def subgraph(around: Neighbourhood, reach: Reach) -> str:
    """One row of arrays. Columns: ids, hops, strengths (of memories); sources, targets, relation_types, directions,
    weights, origins, begins, ends, recorded, labels, reasons (of edges, with the direction in which a computed one is
    walked; stored ones as they run); entities, members, factors (of memories that name an entity, with the weight of a
    link toward each); truncated.

    ``around.fan_out`` is one more than the edges of a memory that a hop follows.
    """
    p = around.p
    names = SharedNames(around)
    # A parameter that nothing refers to has no type: of no hop there is no cap.
    cap = p(around.fan_out - 1, "int") if reach.hops else ""
    least = p(reach.min_weight, "float8")
    most_stored = p(reach.max_stored, "int")
    ctes = [_starts(around, reach)]
    for hop in range(1, reach.hops + 1):
        ctes += _hop(around, names, reach, hop, cap, least)
    hops = range(1, reach.hops + 1)
    namings = range(1, reach.hops + 2)
    ctes += names.hop(reach.hops + 1)
    everywhere = " UNION ALL ".join(
        f"SELECT id, score, {hop:d} AS hops FROM frontier{hop}" for hop in range(reach.hops + 1)
    )
    cut = "".join(
        f" OR EXISTS (SELECT FROM ranked{hop} WHERE place > {cap}) OR EXISTS (SELECT FROM visible{hop} WHERE over)"
        f" OR (SELECT count(*) FROM reached{hop}) > {MAX_REACHED:d}"
        for hop in hops
    )
    return f"""
        WITH {", ".join(ctes)},
        everywhere AS MATERIALIZED ({everywhere}),
        looked_up AS MATERIALIZED (
            {_stored(around, "source_id", "target_id", least)}
            UNION ALL
            {_stored(around, "target_id", "source_id", least)}
        ),
        among AS MATERIALIZED (
            SELECT DISTINCT ON (source_id, target_id, relation_type)
                source_id, target_id, relation_type, 'stored' AS direction, weight, origin, valid_from, valid_until,
                recorded_at, label, reason
            FROM ({_direct(around, reach, least)} UNION ALL SELECT * FROM looked_up WHERE place <= {MAX_PROBES:d}) AS e
            WHERE (e.source_id IN (SELECT id FROM everywhere)) IS TRUE
                AND (e.target_id IN (SELECT id FROM everywhere)) IS TRUE
            ORDER BY source_id, target_id, relation_type
        ),
        turns AS MATERIALIZED (
            SELECT source_id, target_id, relation_type, direction, weight, origin, valid_from, valid_until, recorded_at,
                label, reason
            FROM ({around.session("everywhere")}) AS t
            WHERE t.weight >= {least} AND (t.target_id IN (SELECT id FROM everywhere)) IS TRUE
        ),
        namings AS MATERIALIZED ({names.namings(namings)})
        SELECT m.*, e.*, n.*, (
            (SELECT count(DISTINCT near) FROM looked_up WHERE place > {MAX_PROBES:d}) > 1
            {cut}{names.truncated(namings)}
        ) AS truncated
        FROM (
            SELECT array_agg(id) AS ids, array_agg(hops) AS hops, array_agg(score) AS strengths FROM everywhere
        ) AS m
        CROSS JOIN (
            SELECT array_agg(source_id) AS sources, array_agg(target_id) AS targets,
                array_agg(relation_type) AS relation_types, array_agg(direction) AS directions,
                array_agg(weight) AS weights, array_agg(origin) AS origins, array_agg(valid_from) AS begins,
                array_agg(valid_until) AS ends, array_agg(recorded_at) AS recorded, array_agg(label) AS labels,
                array_agg(reason) AS reasons
            FROM (
                (SELECT * FROM among ORDER BY weight DESC, relation_type, source_id, target_id LIMIT {most_stored})
                UNION ALL
                SELECT * FROM turns
            ) AS e
        ) AS e
        CROSS JOIN (
            SELECT array_agg(entity_id) AS entities, array_agg(memory_id) AS members,
                array_agg(CASE WHEN weight >= {least} THEN weight ELSE 0 END) AS factors
            FROM namings
        ) AS n
    """


def _starts(around: Neighbourhood, reach: Reach) -> str:
    """Of where to start what holds: filters are for what it leads to."""
    p, visibility = around.p, around.visibility
    return f"""
        frontier0 AS MATERIALIZED (
            SELECT s.id, 1::float8 AS score
            FROM unnest({p(list(reach.starts), "uuid[]")}) AS s (id)
            CROSS JOIN LATERAL (
                SELECT FROM {visibility.memories(p)} m
                WHERE {around.mine("m")} AND m.id = s.id AND {visibility.holding("m", p)}
                LIMIT 1
            ) AS held
        )"""


def _hop(around: Neighbourhood, names: SharedNames, reach: Reach, hop: int, cap: str, least: str) -> list[str]:
    p = around.p
    kept, most = p(reach.keep, "float8"), p(reach.max_nodes, "int")
    # NOT IN is looked up in a hash table; an anti-join may be planned as a nested loop, from guessed sizes.
    new = " AND ".join(f"r.id NOT IN (SELECT id FROM frontier{before})" for before in range(hop))
    taken = " - ".join(f"(SELECT count(*) FROM frontier{before})" for before in range(hop))
    named = names.reached(hop)
    return [
        f"""
        ranked{hop} AS MATERIALIZED (
            SELECT n.*, row_number() OVER (
                PARTITION BY n.source_id ORDER BY n.weight * n.multiplier DESC, n.target_id, n.relation_type
            ) AS place
            FROM ({around.direct(f"frontier{hop - 1}")}) AS n
            WHERE n.weight >= {least}
        )""",
        *names.hop(hop),
        f"""
        reached{hop} AS MATERIALIZED (
            SELECT r.id, max(r.score * {kept}) AS score
            FROM (
                SELECT target_id AS id, source_score * weight * multiplier AS score FROM ranked{hop}
                WHERE place <= {cap}
                {named and f"{named} WHERE weight >= {least}"}
            ) AS r
            WHERE {new} GROUP BY r.id
        )""",
        f"""
        visible{hop} AS MATERIALIZED (
            SELECT r.id, r.score, row_number() OVER (ORDER BY r.score DESC, r.id) > {most} - {taken} AS over
            FROM (
                SELECT r.id, r.score
                FROM (SELECT * FROM reached{hop} ORDER BY score DESC, id LIMIT {MAX_REACHED:d}) AS r
                {around.seen("r.id")}
                LIMIT {most}
            ) AS r
        )""",
        f"frontier{hop} AS MATERIALIZED (SELECT id, score FROM visible{hop} WHERE NOT over)",
    ]


_COLUMNS = (
    "e.source_id, e.target_id, e.relation_type, e.weight, e.origin, e.valid_from, e.valid_until, e.recorded_at,"
    " e.label, e.reason"
)


def _in_force(around: Neighbourhood, least: str) -> str:
    names = around.p(list(around.multipliers), "text[]")
    return (
        f"{around.mine('e')} AND e.invalidated_at IS NULL AND e.relation_type = ANY ({names})"
        f" AND e.weight >= {least} AND {around.valid('e')}"
    )


def _stored(around: Neighbourhood, near: str, far: str, least: str) -> str:
    return f"""
        SELECT e.*, f.id AS near
        FROM everywhere f
        CROSS JOIN LATERAL (
            SELECT {_COLUMNS}, row_number() OVER (ORDER BY e.weight DESC, e.{far}) AS place
            FROM {edges(around.visibility.known_at, around.p)} e
            WHERE e.{near} = f.id AND {_in_force(around, least)}
            ORDER BY e.weight DESC, e.{far}
            LIMIT {MAX_PROBES + 1:d}
        ) AS e
    """


def _direct(around: Neighbourhood, reach: Reach, least: str) -> str:
    """The edges among the starts themselves, which may both be hubs."""
    starts = around.p(list(reach.starts), "uuid[]")
    return f"""
        SELECT {_COLUMNS}, 0::bigint AS place, NULL::uuid AS near
        FROM {edges(around.visibility.known_at, around.p)} e
        WHERE e.source_id = ANY ({starts}) AND e.target_id = ANY ({starts}) AND {_in_force(around, least)}
    """
