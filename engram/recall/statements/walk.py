"""The walk: what lies within so many hops of the anchors, by edges and through entities."""

from __future__ import annotations

from collections.abc import Sequence

from engram.graph.neighbours import Neighbourhood
from engram.graph.shared_names import SharedNames
from engram.recall.statements.candidates import COLUMNS, Passages, scored
from engram.recall.tuning import RecallTuning

MAX_LOOKED_AT = 4_000
"""Memories, the best first, that a hop looks at for those that may be seen."""


def walk(
    neighbourhood: Neighbourhood,
    tuning: RecallTuning,
    *,
    anchors: list[object],
    scores: list[float],
    max_hops: int,
    keep: float,
    vector: object,
    terms: Sequence[str],
    passages: Passages,
) -> str:
    """Edges within ``max_hops`` of the anchors and the nodes they lead to, as one row of arrays.

    Each hop follows at most ``fan_out - 1`` stored edges of a memory and goes on from the ``tuning.frontier`` best it
    reached. One statement whatever the number of nodes. Columns: those of the nodes' ``candidates``; sources, targets,
    relation_types, directions, weights, multipliers (of edges); entities, members, factors (of memories that name an
    entity, with the weight of a link toward each); truncated.
    """
    p = neighbourhood.p
    cap = p(neighbourhood.fan_out - 1, "int")
    width = p(tuning.frontier, "int")
    kept = p(keep, "float8")
    names = SharedNames(neighbourhood)
    hops = range(1, max_hops + 1)
    ctes = [
        f"frontier0 AS MATERIALIZED (SELECT * FROM unnest({p(anchors, 'uuid[]')}, {p(scores, 'float8[]')})"
        f" AS anchor (id, score))"
    ]
    for hop in hops:
        # NOT IN is looked up in a hash table; an anti-join may be planned as a nested loop, from guessed sizes.
        new = " AND ".join(f"r.id NOT IN (SELECT id FROM frontier{h})" for h in range(hop))
        ctes += [
            f"""
            ranked{hop} AS MATERIALIZED (
                SELECT n.source_id, n.source_score, n.target_id, n.relation_type, n.direction, n.weight, n.multiplier,
                    row_number() OVER (
                        PARTITION BY n.source_id ORDER BY n.weight * n.multiplier DESC, n.target_id, n.relation_type
                    ) AS place
                FROM ({neighbourhood.direct(f"frontier{hop - 1}")}) AS n
            )""",
            f"edges{hop} AS MATERIALIZED (SELECT * FROM ranked{hop} WHERE place <= {cap})",
            *names.hop(hop),
            f"""
            reached{hop} AS MATERIALIZED (
                SELECT r.id, max(r.score * {kept}) AS score
                FROM (
                    SELECT target_id AS id, source_score * weight * multiplier AS score FROM edges{hop}
                    {names.reached(hop)}
                ) AS r
                WHERE {new} GROUP BY r.id
            )""",
            f"""
            visible{hop} AS MATERIALIZED (
                SELECT r.id, r.score, row_number() OVER (ORDER BY r.score DESC, r.id) AS place
                FROM (
                    SELECT r.id, r.score
                    FROM (SELECT * FROM reached{hop} ORDER BY score DESC, id LIMIT {MAX_LOOKED_AT:d}) AS r
                    {neighbourhood.seen("r.id")}
                    LIMIT {width} + 1
                ) AS r
            )""",
            f"frontier{hop} AS MATERIALIZED (SELECT id, score FROM visible{hop} WHERE place <= {width})",
        ]
    walked = " UNION ALL ".join(f"SELECT * FROM edges{hop}" for hop in hops)
    nodes = " UNION ALL ".join(f"SELECT id FROM frontier{hop}" for hop in hops)
    everywhere = " UNION ALL ".join(f"SELECT id FROM frontier{hop}" for hop in range(max_hops + 1))
    cut = " OR ".join(
        f"EXISTS (SELECT FROM ranked{hop} WHERE place > {cap})"
        f" OR EXISTS (SELECT FROM visible{hop} WHERE place > {width})"
        f" OR (SELECT count(*) FROM reached{hop}) > {MAX_LOOKED_AT:d}"
        for hop in hops
    )
    wanted = p(list(terms), "text[]") if terms else ""
    of_nodes = scored(
        f"({nodes})",
        neighbourhood.mine,
        p(vector, "vector"),
        passages,
        terms=wanted,
        visibility=neighbourhood.visibility,
        p=p,
    )
    return f"""
        WITH {", ".join(ctes)},
        everywhere AS MATERIALIZED ({everywhere}),
        kept AS MATERIALIZED (
            -- IS TRUE keeps this a look-up in a hash table, as above.
            SELECT * FROM ({walked}) AS e WHERE (e.target_id IN (SELECT id FROM everywhere)) IS TRUE
        ),
        namings AS MATERIALIZED ({names.namings(hops)}),
        scored AS MATERIALIZED (
            {of_nodes}
        )
        SELECT e.*, m.*, n.*, ({cut}{names.truncated(hops)}) AS truncated
        FROM (
            SELECT array_agg(source_id) AS sources, array_agg(target_id) AS targets,
                array_agg(relation_type) AS relation_types, array_agg(direction) AS directions,
                array_agg(weight) AS weights, array_agg(multiplier) AS multipliers
            FROM kept
        ) AS e
        CROSS JOIN (
            SELECT array_agg(entity_id) AS entities, array_agg(memory_id) AS members, array_agg(weight) AS factors
            FROM namings
        ) AS m
        CROSS JOIN (SELECT {COLUMNS} FROM scored) AS n
    """
