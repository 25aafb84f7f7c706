"""The entities whose vectors are nearest to a query's, as SQL that those read who have a transaction."""

from __future__ import annotations

from collections.abc import Callable

from engram.memories.vectors import VectorIndex

READ = 4
"""Vectors that are read of the index for each entity that is wanted: one has as many as users name it."""


def nearest(
    mine: Callable[[str], str], index: VectorIndex, query: str, *, user_id: str | None, limit: int, indexed: bool
) -> str:
    """Columns entity_id and similarity, the cosine of the nearest of an entity's vectors; null for a zero vector. At
    most ``limit`` rows, the nearest first.

    ``mine`` is the scope of a table by its alias; ``query`` and ``user_id`` are placeholders. With a user only the
    vectors count that were made of that user's memories.
    """
    of_user = f"AND v.user_id = {user_id}" if user_id is not None else ""
    vectors = f"FROM entity_vectors v WHERE {mine('v')} AND {index.of_model('v')} {of_user}"
    similarity = f"nullif(1 - ({index.distance('v', query, indexed=False)}), 'NaN')"
    all_of_them = f"SELECT v.entity_id, {similarity} AS similarity {vectors}"
    found, relation = "", all_of_them
    if indexed:
        found = f"""
            WITH found AS MATERIALIZED (
                {all_of_them} ORDER BY {index.distance("v", query, indexed=True)} LIMIT {READ * limit:d}
            )"""
        # Many users may name the same few, and a filter may hide what is near: all are scanned then.
        relation = f"""
            SELECT entity_id, similarity FROM found UNION ALL (
                {all_of_them} AND (SELECT count(DISTINCT entity_id) FROM found) < {limit:d}
            )"""
    return f"""
        {found}
        SELECT near.entity_id, max(near.similarity) AS similarity FROM ({relation}) AS near
        GROUP BY near.entity_id ORDER BY similarity DESC NULLS LAST, near.entity_id LIMIT {limit:d}
    """
