"""The arms: the best candidates by vector, by words and by name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.db.parameters import Parameters
from engram.graph.neighbours import Neighbourhood
from engram.memories.known import then
from engram.memories.predicates import Visibility
from engram.memories.vectors import VectorIndex
from engram.recall.asked import AskedTerm
from engram.recall.statements.aimed import aimed
from engram.recall.statements.candidates import COLUMNS, Passages, Scoped, scored
from engram.recall.statements.near import near
from engram.recall.targets import Target
from engram.recall.tuning import RecallTuning

# Sums of fractions depend on the order of rows, and so on the plan; sums of whole numbers do not: a recall is
# repeatable. They are float8, which holds them exactly up to 2^53: sum(bigint) would calculate in numeric.
FIXED_POINT = 1_000_000_000

MAX_POSTINGS = 4_000
"""Terms find candidates from the rarest on, as long as they stand in this many memories together. The rarest always
does: where it alone is in more, the latest that hold it are found. Every candidate is scored by all terms."""

PASSAGES_READ = 4
"""Passages that are read of the vector index for each memory that is wanted: a memory has several."""

MAX_COUNTED = 50_000
"""Counting the memories in which a term stands ends here."""

MAX_NAMES = 256
"""Entities whose names are compared with the query."""

MAX_ABOUT = 24
"""An entity that more memories are about is too common to lead a query to any of them."""


def _bm25(idf: str, average: str, tuning: RecallTuning) -> str:
    """One term's share, of a posting ``t``."""
    # Without the cast a number with a point is numeric to Postgres, which is slow, once for each posting.
    k1, b = (f"{value}::float8" for value in (tuning.bm25_k1, tuning.bm25_b))
    saturation = f"t.frequency * (1 + {k1}) / (t.frequency + {k1} * (1 - {b} + {b} * t.length / {average}))"
    # What is no word of the text, a field or a phrase, is indexed without a frequency and counts by its rarity alone.
    return f"round({FIXED_POINT:d} * {idf} * CASE WHEN t.frequency = 0 THEN 1 ELSE {saturation} END)"


def arms(
    visibility: Visibility,
    index: VectorIndex,
    neighbourhood: Neighbourhood,
    tuning: RecallTuning,
    *,
    vector: object,
    terms: Sequence[AskedTerm],
    counted: Sequence[int],
    memories: int,
    average_length: float,
    pool: int,
    indexed: bool,
    passages: Passages,
    openings: list[str],
    targets: Sequence[Target] | None = None,
    mentioned: float = 0.0,
    only_targets: bool = False,
    near_above: float | None = None,
    near_indexed: bool = False,
) -> str:
    """The best ``pool`` by vector and by words and what a name leads to, and what the query's terms weigh; one row.

    ``counted`` says in how many memories each term stands where that is known, and 0 where it has to be counted.
    Columns: ids, similarities, lengths, lexemes (arrays over candidates, null where there is none); dfs, idfs (arrays
    over terms: in how many memories each stands, and its idf times the weight that the query gives it); subjects
    (arrays of memory id, name, spelling and size, of entities whose name opens as the query does somewhere); targets
    (arrays of memory id, weight and name); near (arrays of memory id, spelling, cosine and size, of entities whose
    vectors are nearer than ``near_above`` to the query's; null where that is None). With ``only_targets`` what the
    other arms find are no candidates.
    """
    p = neighbourhood.p
    mine = neighbourhood.mine
    query = p(vector, "vector")
    # In the text: a general plan for LIMIT $1 expects a tenth of the table, and would sort that instead of asking HNSW.
    limit = f"{pool:d}"
    memories_known, known = visibility.memories_in_order(p)
    visible = (
        f"FROM {memories_known} m WHERE {known} AND {mine('m')} AND {index.of_model('m')} AND {visibility.sql('m', p)}"
    )
    divided = visibility.passages(p)
    size = p(memories, "float8")
    average = p(average_length, "float8")
    wanted = p([term.term for term in terms], "text[]")
    asked = ", ".join(
        (
            wanted,
            p([float(term.weight) for term in terms], "float8[]"),
            p([term.group for term in terms], "int[]"),
            p(list(counted), "int[]"),
        )
    )
    found_by = []
    if not only_targets:
        found_by += ["SELECT id FROM nearest", "SELECT id FROM lexical", "SELECT memory_id FROM named"]
    if targets is not None:
        found_by.append("SELECT memory_id AS id FROM aimed")
    if near_above is not None:
        found_by.append("SELECT memory_id FROM near_entities")
    candidates = f"({' UNION '.join(found_by)})"
    of_candidates = scored(candidates, mine, query, passages, terms=wanted if terms else "", visibility=visibility, p=p)
    names = _named(visible, mine, p(openings, "text[]"), p(MAX_ABOUT, "int")) if openings else _NOBODY
    by_vector = ""
    if near_above is not None:
        nearby = near(visible, mine, index, query, visibility.user_id, near_indexed, near_above, p(MAX_ABOUT, "int"), p)
        by_vector = f"near_entities AS MATERIALIZED ({nearby}),"
    found = "SELECT * FROM counted WHERE df > 0"
    if visibility.known_at is not None:
        # A word may stand in nothing any more, and have stood in what was known then.
        found = "SELECT term, weight, together, number, greatest(df, 1) AS df FROM counted"
    return f"""
        WITH counted AS MATERIALIZED (
            SELECT q.term, q.weight, q.together, q.number, CASE WHEN q.known > 0 THEN q.known ELSE (
                SELECT count(*) FROM (
                    SELECT FROM memory_terms t WHERE {mine("t")} AND t.term = q.term LIMIT {MAX_COUNTED:d}
                ) AS bounded
            ) END AS df
            FROM unnest({asked}) WITH ORDINALITY AS q (term, weight, together, known, number)
        ),
        grouped AS MATERIALIZED (
            SELECT *, (sum(df) OVER (PARTITION BY together))::float8 AS group_df,
                sum(df) OVER (ORDER BY df, term) AS through, row_number() OVER (ORDER BY df, term) AS place
            FROM ({found}) AS found
        ),
        asked AS MATERIALIZED (
            SELECT term, df, number, place, through,
                weight * ln(1 + (greatest({size}, group_df) - group_df + 0.5) / (group_df + 0.5)) AS idf
            FROM grouped
        ),
        matches AS MATERIALIZED (
            SELECT t.memory_id AS id, sum({_bm25("asked.idf", average, tuning)}) AS bm25
            FROM asked
            CROSS JOIN LATERAL (
                SELECT t.memory_id, t.frequency, t.length FROM memory_terms t
                WHERE {mine("t")} AND t.term = asked.term
                ORDER BY t.memory_id DESC LIMIT {MAX_POSTINGS:d}
            ) AS t
            WHERE asked.through <= {MAX_POSTINGS:d} OR asked.place = 1
            GROUP BY t.memory_id
            {_changed_since(visibility.known_at, mine, p) if visibility.known_at else ""}
        ),
        {_indexed(visible, index, query, limit) if indexed else ""}
        {_passed(visible, divided, mine, index, query, limit) if passages is Passages.indexed else ""}
        nearest AS MATERIALIZED (
            SELECT near.id
            FROM (
                {"SELECT id, distance FROM indexed UNION ALL" if indexed else ""}
                (
                    SELECT m.id, {index.distance("m", query, indexed=False)} AS distance
                    {visible} {f"AND (SELECT count(*) FROM indexed) < {limit}" if indexed else ""}
                    ORDER BY distance, m.id LIMIT {limit}
                )
                {_by_passage(visible, divided, mine, index, query, limit, passages)}
            ) AS near
            GROUP BY near.id ORDER BY min(near.distance), near.id LIMIT {limit}
        ),
        lexical AS MATERIALIZED (
            SELECT x.id FROM (SELECT id FROM matches ORDER BY bm25 DESC, id) AS x
            CROSS JOIN LATERAL (SELECT {visible} AND m.id = x.id LIMIT 1) AS seen
            LIMIT {limit}
        ),
        named AS MATERIALIZED ({names}),
        {f"aimed AS MATERIALIZED ({aimed(targets, visible, mine, mentioned, p)})," if targets is not None else ""}
        {by_vector}
        candidates AS MATERIALIZED (
            {of_candidates}
        )
        SELECT of_candidates.*,
            (SELECT array_agg(df::int ORDER BY number) FROM counted) AS dfs,
            (
                SELECT array_agg(coalesce(asked.idf, 0) ORDER BY counted.number)
                FROM counted LEFT JOIN asked USING (number)
            ) AS idfs,
            (SELECT jsonb_agg(jsonb_build_array(memory_id, name, display_name, size)) FROM named) AS subjects,
            {_TARGETS if targets is not None else "NULL::jsonb"} AS targets,
            {_NEAR if near_above is not None else "NULL::jsonb"} AS near
        FROM (SELECT {COLUMNS} FROM candidates) AS of_candidates
    """


def _changed_since(known_at: datetime, mine: Scoped, p: Parameters) -> str:
    """What texts held that were changed since: postings are of texts as they are now. A term counts by its rarity."""
    return f"""
            UNION ALL
            SELECT v.memory_id, sum(round({FIXED_POINT:d} * asked.idf)) AS bm25
            FROM memory_versions v
            JOIN asked ON position(substring(decode(md5(asked.term), 'hex') FROM 1 FOR 8) IN v.lexemes) > 0
            WHERE {mine("v")} AND {then("v", known_at, p)}
            GROUP BY v.memory_id"""


_TARGETS = "(SELECT jsonb_agg(jsonb_build_array(memory_id, weight, display_name)) FROM aimed)"


_NEAR = "(SELECT jsonb_agg(jsonb_build_array(memory_id, display_name, similarity, size)) FROM near_entities)"


def _named(visible: str, mine: Scoped, openings: str, most: str) -> str:
    """Memories about the entities whose names open so. An entity that too many are about leads to none."""
    return f"""
        SELECT about.memory_id, entity.name, entity.display_name, about.size
        FROM (
            SELECT e.id, e.name, e.display_name FROM entities e
            WHERE {mine("e")} AND e.opening = ANY ({openings})
            ORDER BY e.name LIMIT {MAX_NAMES:d}
        ) AS entity
        CROSS JOIN LATERAL (
            SELECT subject.memory_id, count(*) OVER () AS size
            FROM (
                SELECT s.memory_id FROM mentions s
                WHERE {mine("s")} AND s.entity_id = entity.id AND s.is_subject
                ORDER BY s.memory_id LIMIT {most} + 1
            ) AS subject
        ) AS about
        CROSS JOIN LATERAL (SELECT {visible} AND m.id = about.memory_id LIMIT 1) AS seen
        WHERE about.size <= {most}
    """


_NOBODY = "SELECT NULL::uuid AS memory_id, ''::text AS name, ''::text AS display_name, 0::bigint AS size LIMIT 0"


def _indexed(visible: str, index: VectorIndex, query: str, limit: str) -> str:
    """What the vector index gives.

    It may give too few: filters pass few of what it scans, zero vectors are not in it, and among thousands of equal
    vectors its graph falls apart. All are scanned then: Postgres does not begin that scan where nothing is missing.
    """
    distance = index.distance("m", query, indexed=True)
    return f"""
        indexed AS MATERIALIZED (
            SELECT m.id, {distance} AS distance {visible} ORDER BY {distance} LIMIT {limit}
        ),"""


def _by_passage(
    visible: str, divided: str, mine: Scoped, index: VectorIndex, query: str, limit: str, passages: Passages
) -> str:
    """Memories with the nearest passages. A memory has several: of an index more are read than are wanted."""
    if passages is Passages.none:
        return ""
    seen = f"CROSS JOIN LATERAL (SELECT {visible} AND m.id = near.memory_id LIMIT 1) AS seen"
    own = f"{mine('near')} AND {index.of_model('near')}"
    found, missing = "", ""
    if passages is Passages.indexed:
        found = "UNION ALL SELECT memory_id, distance FROM passed"
        # One memory may have all that was read, and a filter may hide it: all are scanned then, as above.
        missing = f"AND (SELECT count(DISTINCT memory_id) FROM passed) < {limit}"
    return f"""
                {found} UNION ALL (
                    SELECT near.memory_id, near.distance
                    FROM (
                        SELECT near.memory_id, min({index.distance("near", query, indexed=False)}) AS distance
                        FROM {divided} near WHERE {own} {missing}
                        GROUP BY near.memory_id ORDER BY distance, near.memory_id
                    ) AS near {seen}
                    LIMIT {limit}
                )"""


def _passed(visible: str, divided: str, mine: Scoped, index: VectorIndex, query: str, limit: str) -> str:
    """Memories of the nearest passages, as the vector index gives them."""
    distance = index.distance("near", query, indexed=True)
    return f"""
        passed AS MATERIALIZED (
            SELECT near.memory_id, {distance} AS distance FROM {divided} near
            CROSS JOIN LATERAL (SELECT {visible} AND m.id = near.memory_id LIMIT 1) AS seen
            WHERE {mine("near")} AND {index.of_model("near")}
            ORDER BY {distance} LIMIT {PASSAGES_READ:d} * {limit}
        ),"""
