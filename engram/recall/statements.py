"""SQL text of a recall: the arms, and the walk. Put together from fixed fragments; every value is a parameter."""

from __future__ import annotations

from engram.graph.neighbours import Neighbourhood
from engram.memories.predicates import Visibility
from engram.memories.vectors import VectorIndex
from engram.recall.scoring import BM25_B, BM25_K1

# Sums of fractions depend on the order of rows, and so on the plan; sums of integers do not: a recall is repeatable.
FIXED_POINT = 1_000_000_000

_TERM = (
    f"({FIXED_POINT} * {{idf}} * t.frequency * {BM25_K1 + 1}"
    f" / (t.frequency + {BM25_K1} * ({1 - BM25_B} + {BM25_B} * t.length / {{average}})))::bigint"
)


def arms(
    visibility: Visibility,
    index: VectorIndex,
    neighbourhood: Neighbourhood,
    *,
    vector: object,
    terms: list[str],
    memories: int,
    average_length: float,
    pool: int,
    indexed: bool,
) -> str:
    """The best ``pool`` by vector and by words, with both scores each, and the term frequencies behind them.

    Columns: id, similarity, bm25 (times ``FIXED_POINT``, 0 without a match), terms (those that the memory holds),
    dfs (object of term to document frequency).
    """
    p = neighbourhood.p
    agent = p(neighbourhood.agent_id, "uuid")
    query = p(vector, "vector")
    # In the text: a general plan for LIMIT $1 expects a tenth of the table, and would sort that instead of asking HNSW.
    limit = f"{pool:d}"
    visible = f"m.agent_id = {agent} AND {index.of_model('m')} AND {visibility.sql('m', p)}"
    size = p(memories, "float8")
    weight = _TERM.format(
        idf=f"ln(1 + (greatest({size}, t.df) - t.df + 0.5) / (t.df + 0.5))",
        average=p(average_length, "float8"),
    )
    return f"""
        WITH postings AS MATERIALIZED (
            SELECT t.memory_id, t.term, t.frequency, t.length, count(*) OVER (PARTITION BY t.term) AS df
            FROM memory_terms t
            WHERE t.agent_id = {agent} AND t.term = ANY ({p(terms, "text[]")})
        ),
        matches AS MATERIALIZED (
            SELECT t.memory_id AS id, sum({weight})::float8 AS bm25, array_agg(t.term ORDER BY t.term) AS terms
            FROM postings t GROUP BY t.memory_id
        ),
        {_indexed(visible, index, query, limit) if indexed else ""}
        nearest AS MATERIALIZED (
            {"SELECT id FROM indexed UNION" if indexed else ""}
            (
                SELECT m.id FROM memories m
                WHERE {visible} {f"AND (SELECT count(*) FROM indexed) < {limit}" if indexed else ""}
                ORDER BY {index.distance("m", query, indexed=False)}, m.id LIMIT {limit}
            )
        ),
        lexical AS MATERIALIZED (
            SELECT m.id FROM matches x JOIN memories m ON m.id = x.id
            WHERE {visible} ORDER BY x.bm25 DESC, x.id LIMIT {limit}
        )
        SELECT m.id, 1 - (m.embedding <=> {query}) AS similarity, coalesce(x.bm25, 0) AS bm25,
            coalesce(x.terms, '{{}}') AS terms,
            (SELECT jsonb_object_agg(d.term, d.df) FROM (SELECT DISTINCT term, df FROM postings) AS d) AS dfs
        FROM (SELECT id FROM nearest UNION SELECT id FROM lexical) AS candidate
        JOIN memories m ON m.agent_id = {agent} AND m.id = candidate.id
        LEFT JOIN matches x ON x.id = candidate.id
    """


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


def walk(
    neighbourhood: Neighbourhood,
    *,
    anchors: list[object],
    scores: list[float],
    max_hops: int,
    keep: float,
    frontier: int,
    vector: object,
    terms: list[str],
    idfs: list[float],
    average_length: float,
) -> str:
    """Edges within ``max_hops`` of the anchors and the nodes they lead to, as one row of arrays.

    Each hop reads at most ``fan_out - 1`` edges a node and goes on from the ``frontier`` best nodes it reached. One
    statement whatever the number of nodes.
    """
    p = neighbourhood.p
    agent = p(neighbourhood.agent_id, "uuid")
    cap = p(neighbourhood.fan_out - 1, "int")
    width = p(frontier, "int")
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
    weight = _TERM.format(idf="asked.idf", average=p(average_length, "float8"))
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
                SELECT 1 - (m.embedding <=> {p(vector, "vector")}) AS similarity
                FROM memories m WHERE m.agent_id = {agent} AND m.id = n.id LIMIT 1
            ) AS memory
            CROSS JOIN LATERAL (
                SELECT coalesce(sum({weight}), 0)::float8 AS bm25,
                    coalesce(string_agg(t.term, ' ' ORDER BY t.term), '') AS terms
                FROM unnest({p(terms, "text[]")}, {p(idfs, "float8[]")}) AS asked (term, idf)
                CROSS JOIN LATERAL (
                    SELECT t.term, t.frequency, t.length FROM memory_terms t
                    WHERE t.agent_id = {agent} AND t.term = asked.term AND t.memory_id = n.id LIMIT 1
                ) AS t
            ) AS words
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
