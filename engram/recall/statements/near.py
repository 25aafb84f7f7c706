"""Memories at the entities that are near the query by their vectors."""

from __future__ import annotations

from engram.db.parameters import Parameters
from engram.entities.vectors.nearest import nearest
from engram.memories.vectors import VectorIndex
from engram.recall.statements.candidates import Scoped

MAX_NEAR = 10
"""Entities that a query may name in other words, the nearest."""


def near(
    visible: str,
    mine: Scoped,
    index: VectorIndex,
    query: str,
    user_id: str | None,
    indexed: bool,
    above: float,
    most: str,
    p: Parameters,
) -> str:
    """Columns memory_id, display_name, similarity and size: the memories about the nearest entities, or where there
    are none about one, those that mention it. An entity that more than ``most`` are of leads to none.

    Where memories of one user are asked for, so are the vectors that were made of these.
    """
    of_user = p(user_id, "text") if user_id is not None else None

    def first(which: str) -> str:
        return f"""
            SELECT s.memory_id, count(*) OVER () AS size
            FROM (
                SELECT s.memory_id FROM mentions s
                WHERE {mine("s")} AND s.entity_id = entity.id {which}
                ORDER BY s.memory_id LIMIT {most} + 1
            ) AS s
        """

    return f"""
        SELECT reached.memory_id, entity.display_name, entity.similarity, reached.size
        FROM (
            SELECT e.id, e.display_name, nearest.similarity
            FROM (
                {nearest(mine, index, query, user_id=of_user, limit=MAX_NEAR, indexed=indexed)}
            ) AS nearest
            CROSS JOIN LATERAL (
                SELECT e.id, e.display_name FROM entities e WHERE {mine("e")} AND e.id = nearest.entity_id LIMIT 1
            ) AS e
            WHERE nearest.similarity > {p(above, "float8")}
        ) AS entity
        CROSS JOIN LATERAL (
            WITH about AS ({first("AND s.is_subject")})
            SELECT memory_id, size FROM about
            UNION ALL
            SELECT * FROM ({first("")}) AS mentioning WHERE NOT EXISTS (SELECT FROM about)
        ) AS reached
        CROSS JOIN LATERAL (SELECT {visible} AND m.id = reached.memory_id LIMIT 1) AS seen
        WHERE reached.size <= {most}
    """
