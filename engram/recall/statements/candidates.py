"""What is read of each candidate: its similarity to the query, and its terms."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from engram.db.parameters import Parameters
from engram.memories.predicates import Visibility

Scoped = Callable[[str], str]
"""The scope of a table, by its alias."""


class Passages(Enum):
    """How the passages of an agent's memories are searched, if it has any."""

    none = auto()
    scanned = auto()
    indexed = auto()


MAX_PACKED = 32_768
"""Bytes: of a memory with more than three thousand terms the query's are looked up one by one, in the postings."""


def scored(
    ids: str, mine: Scoped, query: str, passages: Passages, *, terms: str, visibility: Visibility, p: Parameters
) -> str:
    """Columns id, similarity, length and lexemes of the memories in the relation ``ids (id)``.

    ``terms`` is an array of the query's, and empty where no words count: then nothing is read of them. The similarity
    is the cosine of a memory, or of its nearest passage where that is nearer; null for a zero vector. Look-ups are
    lateral, with a limit: always probes of a primary key, also before the tables were ever analysed.
    """
    best = f"""
        , (
            SELECT max(nullif(1 - (c.embedding <=> {query}), 'NaN')) FROM {visibility.passages(p)} c
            WHERE {mine("c")} AND c.memory_id = asked.id
        )"""
    # Packed as engram/text/lexemes.py packs them.
    short = f"octet_length(w.lexemes) <= {MAX_PACKED:d}" + (" OR w.past" if visibility.known_at else "")
    looked_up = f"""
        SELECT string_agg(digest.hash || int2send(t.frequency), ''::bytea ORDER BY digest.hash)
        FROM unnest({terms}) AS wanted (term)
        CROSS JOIN LATERAL (
            SELECT p.term, p.frequency FROM memory_terms p
            WHERE {mine("p")} AND p.term = wanted.term AND p.memory_id = asked.id LIMIT 1
        ) AS t
        CROSS JOIN LATERAL (SELECT substring(decode(md5(t.term), 'hex') FROM 1 FOR 8) AS hash) AS digest"""
    lexemes = f"""
        LEFT JOIN LATERAL (
            SELECT w.length,
                CASE WHEN {short} THEN w.lexemes ELSE ({looked_up}) END AS lexemes
            FROM {visibility.lexemes(p)} w
            WHERE {mine("w")} AND w.memory_id = asked.id {_FIRST if visibility.known_at else ""} LIMIT 1
        ) AS words ON true"""
    return f"""
        SELECT asked.id, memory.similarity,
            {"coalesce(words.length, 0)" if terms else "0"} AS length,
            {"coalesce(words.lexemes, '')" if terms else "''::bytea"} AS lexemes
        FROM {ids} AS asked
        CROSS JOIN LATERAL (
            SELECT greatest(
                nullif(1 - (m.embedding <=> {query}), 'NaN'){"" if passages is Passages.none else best}
            ) AS similarity
            FROM {visibility.memories(p)} m WHERE {mine("m")} AND m.id = asked.id LIMIT 1
        ) AS memory
        {lexemes if terms else ""}
    """


_FIRST = "ORDER BY w.past DESC"

COLUMNS = (
    "array_agg(id) AS ids, array_agg(similarity) AS similarities, array_agg(length) AS lengths,"
    " array_agg(lexemes) AS lexemes"
)
"""The same as one row of arrays: a driver reads a few long arrays faster than many short rows."""
