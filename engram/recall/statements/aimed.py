"""Memories at the entities that a recall is aimed at, each with how strongly it is meant."""

from __future__ import annotations

from collections.abc import Sequence

from engram.db.parameters import Parameters
from engram.recall.statements.candidates import Scoped
from engram.recall.targets import Target, by_entity

MAX_AT_TARGET = 200
"""Memories about an entity, and of those that mention it as many, the latest first; beside these, all that other arms
find."""


def aimed(targets: Sequence[Target], visible: str, mine: Scoped, mentioned: float, p: Parameters) -> str:
    """Columns memory_id, weight and display_name: by memory the strongest of the entities that it names.

    ``mentioned`` is what a memory is worth that mentions an entity, beside 1 for one that is about it.
    """
    ids, weights, names = by_entity(targets)
    seen = f"CROSS JOIN LATERAL (SELECT {visible} AND m.id = n.memory_id LIMIT 1) AS seen"
    worth = f"CASE WHEN n.is_subject THEN 1 ELSE {p(mentioned, 'float8')} END"

    def latest(which: str) -> str:
        # Filters go beneath the limit: what they hide must not count toward it.
        return f"""
            (SELECT n.memory_id, n.is_subject FROM mentions n {seen}
             WHERE {mine("n")} AND n.entity_id = target.entity_id {which}
             ORDER BY n.memory_id DESC LIMIT {MAX_AT_TARGET:d})
        """

    return f"""
        SELECT DISTINCT ON (named.memory_id) named.memory_id, named.weight, named.display_name
        FROM (
            SELECT n.memory_id, target.weight * {worth} AS weight, target.display_name
            FROM unnest({p(ids, "uuid[]")}, {p(weights, "float8[]")}, {p(names, "text[]")})
                AS target (entity_id, weight, display_name)
            CROSS JOIN LATERAL (
                {latest("AND n.is_subject")}
                UNION ALL
                {latest("")}
                UNION ALL
                SELECT n.memory_id, n.is_subject FROM (SELECT id FROM nearest UNION SELECT id FROM lexical) AS other
                JOIN mentions n ON {mine("n")} AND n.entity_id = target.entity_id AND n.memory_id = other.id
            ) AS n
        ) AS named
        WHERE named.weight > 0
        ORDER BY named.memory_id, named.weight DESC, named.display_name
    """
