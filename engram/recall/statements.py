"""SQL text of a recall: the arms, and the walk. Put together from fixed fragments; every value is a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto

from engram.graph.neighbours import Neighbourhood
from engram.memories.predicates import Visibility
from engram.memories.vectors import VectorIndex
from engram.recall.asked import AskedTerm
from engram.recall.tuning import RecallTuning

# Sums of fractions depend on the order of rows, and so on the plan; sums of integers do not: a recall is repeatable.
FIXED_POINT = 1_000_000_000

COMMON = 10_000
"""A term that stands in more memories finds no candidates, unless the query has no rarer one: then the latest that hold
it do. Every candidate is scored by all terms."""

MAX_COUNTED = 50_000
"""Counting the memories in which a term stands ends here."""

MAX_NAMES = 256
"""Entities whose names are compared with the query."""

MAX_ABOUT = 24
"""An entity that more memories are about is too common to lead a query to any of them."""


class Passages(Enum):
    """How the passages of an agent's memories are searched, if it has any."""

    none = auto()
    scanned = auto()
    indexed = auto()


def _similarity(id: str, agent: str, query: str, passages: Passages) -> str:
    """The cosine of one memory, or of its nearest passage where that is nearer. Null for a zero vector."""
    best = f"""
        , (
            SELECT max(nullif(1 - (c.embedding <=> {query}), 'NaN')) FROM memory_passages c
            WHERE c.agent_id = {agent} AND c.memory_id = {id}
        )"""
    return f"""
        SELECT greatest(
            nullif(1 - (m.embedding <=> {query}), 'NaN'){"" if passages is Passages.none else best}
        ) AS similarity
        FROM memories m WHERE m.agent_id = {agent} AND m.id = {id} LIMIT 1
    """


def _words(id: str, asked: str, agent: str, average: str, tuning: RecallTuning) -> str:
    """BM25 (times ``FIXED_POINT``) and the terms of one memory, probed in the index; ``asked (term, idf)``."""
    return f"""
        SELECT coalesce(sum({_bm25("asked.idf", average, tuning)}), 0)::float8 AS bm25,
            coalesce(string_agg(t.term, E'\n' ORDER BY t.term), '') AS terms
        FROM {asked}
        CROSS JOIN LATERAL (
            SELECT t.term, t.frequency, t.length FROM memory_terms t
            WHERE t.agent_id = {agent} AND t.term = asked.term AND t.memory_id = {id} LIMIT 1
        ) AS t
    """


def _bm25(idf: str, average: str, tuning: RecallTuning) -> str:
    """One term's share, of a posting ``t``."""
    k1, b = tuning.bm25_k1, tuning.bm25_b
    saturation = f"t.frequency * {k1 + 1} / (t.frequency + {k1} * ({1 - b} + {b} * t.length / {average}))"
    # What is no word of the text, a field or a phrase, is indexed without a frequency and counts by its rarity alone.
    return f"({FIXED_POINT} * {idf} * CASE WHEN t.frequency = 0 THEN 1 ELSE {saturation} END)::bigint"


def arms(
    visibility: Visibility,
    index: VectorIndex,
    neighbourhood: Neighbourhood,
    tuning: RecallTuning,
    *,
    vector: object,
    terms: Sequence[AskedTerm],
    memories: int,
    average_length: float,
    pool: int,
    indexed: bool,
    passages: Passages,
    openings: list[str],
) -> str:
    """The best ``pool`` by vector and by words, with both scores each, and what the query's terms weigh.

    Columns: id, similarity, bm25 (times ``FIXED_POINT``, 0 without a match), terms (those that the memory holds, one a
    line), weights (object of term to what it weighs: its idf times the weight that the query gives it), subjects
    (arrays of memory id, name, spelling and size, of entities whose name opens as the query does somewhere).
    """
    p = neighbourhood.p
    agent = p(neighbourhood.agent_id, "uuid")
    query = p(vector, "vector")
    # In the text: a general plan for LIMIT $1 expects a tenth of the table, and would sort that instead of asking HNSW.
    limit = f"{pool:d}"
    visible = f"m.agent_id = {agent} AND {index.of_model('m')} AND {visibility.sql('m', p)}"
    size = p(memories, "float8")
    average = p(average_length, "float8")
    asked = ", ".join(
        (
            p([term.term for term in terms], "text[]"),
            p([float(term.weight) for term in terms], "float8[]"),
            p([term.group for term in terms], "int[]"),
        )
    )
    names = _named(visible, agent, p(openings, "text[]"), p(MAX_ABOUT, "int")) if openings else _NOBODY
    return f"""
        WITH counted AS MATERIALIZED (
            SELECT q.term, q.weight, q.together, (
                SELECT count(*) FROM (
                    SELECT FROM memory_terms t WHERE t.agent_id = {agent} AND t.term = q.term LIMIT {MAX_COUNTED:d}
                ) AS bounded
            ) AS df
            FROM unnest({asked}) AS q (term, weight, together)
        ),
        grouped AS MATERIALIZED (
            SELECT term, weight, df, (sum(df) OVER (PARTITION BY together))::float8 AS group_df
            FROM counted WHERE df > 0
        ),
        asked AS MATERIALIZED (
            SELECT term, df,
                weight * ln(1 + (greatest({size}, group_df) - group_df + 0.5) / (group_df + 0.5)) AS idf,
                row_number() OVER (ORDER BY df, term) AS place
            FROM grouped
        ),
        matches AS MATERIALIZED (
            SELECT t.memory_id AS id, sum({_bm25("asked.idf", average, tuning)}) AS bm25
            FROM asked
            CROSS JOIN LATERAL (
                SELECT t.memory_id, t.frequency, t.length FROM memory_terms t
                WHERE t.agent_id = {agent} AND t.term = asked.term
                ORDER BY t.memory_id DESC LIMIT {COMMON:d}
            ) AS t
            WHERE asked.df <= {COMMON:d} OR asked.place = 1
            GROUP BY t.memory_id
        ),
        {_indexed(visible, index, query, limit) if indexed else ""}
        {_passed(visible, agent, index, query, limit) if passages is Passages.indexed else ""}
        nearest AS MATERIALIZED (
            {"SELECT id FROM indexed UNION" if indexed else ""}
            (
                SELECT m.id FROM memories m
                WHERE {visible} {f"AND (SELECT count(*) FROM indexed) < {limit}" if indexed else ""}
                ORDER BY {index.distance("m", query, indexed=False)}, m.id LIMIT {limit}
            )
            {_by_passage(visible, agent, index, query, limit, passages)}
        ),
        lexical AS MATERIALIZED (
            SELECT x.id FROM (SELECT id FROM matches ORDER BY bm25 DESC, id) AS x
            CROSS JOIN LATERAL (SELECT FROM memories m WHERE {visible} AND m.id = x.id LIMIT 1) AS seen
            LIMIT {limit}
        ),
        named AS MATERIALIZED ({names})
        SELECT candidate.id, memory.similarity, words.bm25, words.terms,
            (SELECT jsonb_object_agg(term, idf) FROM asked) AS weights,
            (SELECT jsonb_agg(jsonb_build_array(memory_id, name, display_name, size)) FROM named) AS subjects
        FROM (
            SELECT id FROM nearest UNION SELECT id FROM lexical UNION SELECT memory_id FROM named
        ) AS candidate
        CROSS JOIN LATERAL (
            {_similarity("candidate.id", agent, query, passages)}
        ) AS memory
        CROSS JOIN LATERAL ({_words("candidate.id", "asked", agent, average, tuning)}) AS words
    """


def _named(visible: str, agent: str, openings: str, most: str) -> str:
    """Memories about the entities whose names open so. An entity that too many are about leads to none."""
    return f"""
        SELECT about.memory_id, entity.name, entity.display_name, about.size
        FROM (
            SELECT e.id, e.name, e.display_name FROM entities e
            WHERE e.agent_id = {agent} AND e.opening = ANY ({openings})
            ORDER BY e.name LIMIT {MAX_NAMES:d}
        ) AS entity
        CROSS JOIN LATERAL (
            SELECT subject.memory_id, count(*) OVER () AS size
            FROM (
                SELECT s.memory_id FROM mentions s
                WHERE s.agent_id = {agent} AND s.entity_id = entity.id AND s.is_subject
                ORDER BY s.memory_id LIMIT {most} + 1
            ) AS subject
        ) AS about
        CROSS JOIN LATERAL (SELECT FROM memories m WHERE {visible} AND m.id = about.memory_id LIMIT 1) AS seen
        WHERE about.size <= {most}
    """


_NOBODY = "SELECT NULL::uuid AS memory_id, ''::text AS name, ''::text AS display_name, 0::bigint AS size LIMIT 0"


def _indexed(visible: str, index: VectorIndex, query: str, limit: str) -> str:
    """What the vector index gives.

    It may give too few: filters pass few of what it scans, zero vectors are not in it, and among thousands of equal
    vectors its graph falls apart. All are scanned then: Postgres does not begin that scan where nothing is missing.
    """
    return f"""
        indexed AS MATERIALIZED (
            SELECT m.id FROM memories m WHERE {visible}
            ORDER BY {index.distance("m", query, indexed=True)} LIMIT {limit}
        ),"""


def _by_passage(visible: str, agent: str, index: VectorIndex, query: str, limit: str, passages: Passages) -> str:
    """Memories with the nearest passages. A memory has several: of an index more are read than are wanted."""
    if passages is Passages.none:
        return ""
    seen = f"CROSS JOIN LATERAL (SELECT FROM memories m WHERE {visible} AND m.id = near.memory_id LIMIT 1) AS seen"
    mine = f"near.agent_id = {agent} AND {index.of_model('near')}"
    found, missing = "", ""
    if passages is Passages.indexed:
        found = "UNION SELECT memory_id FROM passed"
        # One memory may have all that was read, and a filter may hide it: all are scanned then, as above.
        missing = f"AND (SELECT count(DISTINCT memory_id) FROM passed) < {limit}"
    return f"""
            {found} UNION (
                SELECT near.memory_id
                FROM (
                    SELECT near.memory_id, min({index.distance("near", query, indexed=False)}) AS distance
                    FROM memory_passages near WHERE {mine} {missing}
                    GROUP BY near.memory_id ORDER BY distance, near.memory_id
                ) AS near {seen}
                LIMIT {limit}
            )"""


def _passed(visible: str, agent: str, index: VectorIndex, query: str, limit: str) -> str:
    """Memories of the nearest passages, as the vector index gives them."""
    return f"""
        passed AS MATERIALIZED (
            SELECT near.memory_id FROM memory_passages near
            CROSS JOIN LATERAL (SELECT FROM memories m WHERE {visible} AND m.id = near.memory_id LIMIT 1) AS seen
            WHERE near.agent_id = {agent} AND {index.of_model("near")}
            ORDER BY {index.distance("near", query, indexed=True)} LIMIT 4 * {limit}
        ),"""


def walk(
    neighbourhood: Neighbourhood,
    tuning: RecallTuning,
    *,
    anchors: list[object],
    scores: list[float],
    max_hops: int,
    keep: float,
    vector: object,
    weights: Mapping[str, float],
    average_length: float,
    passages: Passages,
) -> str:
    """Edges within ``max_hops`` of the anchors and the nodes they lead to, as one row of arrays.

    Each hop reads at most ``fan_out - 1`` edges a node and goes on from the ``tuning.frontier`` best it reached. One
    statement whatever the number of nodes.
    """
    p = neighbourhood.p
    agent = p(neighbourhood.agent_id, "uuid")
    cap = p(neighbourhood.fan_out - 1, "int")
    width = p(tuning.frontier, "int")
    ctes = [
        f"frontier0 AS MATERIALIZED (SELECT * FROM unnest({p(anchors, 'uuid[]')}, {p(scores, 'float8[]')})"
        f" AS anchor (id, score))"
    ]
    for hop in range(1, max_hops + 1):
        # NOT IN is looked up in a hash table; an anti-join may be planned as a nested loop, from guessed sizes.
        seen = " AND ".join(f"e.target_id NOT IN (SELECT id FROM frontier{h})" for h in range(hop))
        ctes += [
            f"""
            ranked{hop} AS MATERIALIZED (
                SELECT n.*, row_number() OVER (
                    PARTITION BY n.source_id ORDER BY n.weight * n.multiplier DESC, n.target_id, n.relation_type
                ) AS place
                FROM ({neighbourhood.sql(f"frontier{hop - 1}")}) AS n
            )""",
            f"edges{hop} AS MATERIALIZED (SELECT * FROM ranked{hop} WHERE place <= {cap})",
            f"""
            reached{hop} AS MATERIALIZED (
                SELECT e.target_id AS id, max(e.source_score * {p(keep, "float8")} * e.weight * e.multiplier) AS score
                FROM edges{hop} e WHERE {seen} GROUP BY e.target_id
            )""",
            f"frontier{hop} AS MATERIALIZED (SELECT id, score FROM reached{hop} ORDER BY score DESC, id LIMIT {width})",
        ]
    hops = range(1, max_hops + 1)
    walked = " UNION ALL ".join(f"SELECT * FROM edges{hop}" for hop in hops)
    nodes = " UNION ALL ".join(f"SELECT id FROM frontier{hop}" for hop in hops)
    everywhere = " UNION ALL ".join(f"SELECT id FROM frontier{hop}" for hop in range(max_hops + 1))
    cut = " OR ".join(
        f"EXISTS (SELECT FROM ranked{hop} WHERE place > {cap}) OR (SELECT count(*) FROM reached{hop}) > {width}"
        for hop in hops
    )
    asked = f"unnest({p(list(weights), 'text[]')}, {p(list(weights.values()), 'float8[]')}) AS asked (term, idf)"
    return f"""
        WITH {", ".join(ctes)},
        kept AS MATERIALIZED (
            -- IS TRUE keeps this a look-up in a hash table, as above.
            SELECT * FROM ({walked}) AS e WHERE (e.target_id IN (SELECT id FROM ({everywhere}) AS n)) IS TRUE
        ),
        scored AS MATERIALIZED (
            SELECT n.id, memory.similarity, words.bm25, words.terms
            FROM ({nodes}) AS n
            CROSS JOIN LATERAL (
                {_similarity("n.id", agent, p(vector, "vector"), passages)}
            ) AS memory
            CROSS JOIN LATERAL ({_words("n.id", asked, agent, p(average_length, "float8"), tuning)}) AS words
        )
        SELECT e.*, n.*, ({cut}) AS truncated
        FROM (
            SELECT array_agg(source_id) AS sources, array_agg(target_id) AS targets,
                array_agg(relation_type) AS relation_types, array_agg(direction) AS directions,
                array_agg(weight) AS weights, array_agg(multiplier) AS multipliers, array_agg(entity_id) AS entities
            FROM kept
        ) AS e
        CROSS JOIN (
            SELECT array_agg(id) AS ids, array_agg(similarity) AS similarities, array_agg(bm25) AS bm25s,
                array_agg(terms) AS terms
            FROM scored
        ) AS n
    """
