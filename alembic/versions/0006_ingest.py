"""What makes writing fast: look-ups that keep to their index, and vector indexes that cost less to insert into.

Look-ups keep to it whatever the planner believes of the agent. Of one that came after the last ANALYZE it believes that
it has one row, and then the primary key looks as good as any index: it would read the whole agent, for each memory that
is written. Only a path through the index meant gives its order, so where sorting is off no other one is taken.

Vector indexes are made anew, of half precision: a server makes those of a model that is new to a database, but it
would not wait for one over a large table.
"""

from __future__ import annotations

from sqlalchemy import text

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

UPGRADE = (
    """
    CREATE FUNCTION engram_twins(agent uuid, hashes bytea[])
    RETURNS TABLE (dedup_hash bytea, id uuid, valid_until timestamptz)
    LANGUAGE sql STABLE SET enable_sort = off AS $$
        SELECT twin.dedup_hash, twin.id, twin.valid_until
        FROM unnest(hashes) AS given (dedup_hash)
        CROSS JOIN LATERAL (
            SELECT m.dedup_hash, m.id, m.valid_until FROM memories m
            WHERE m.agent_id = agent AND m.dedup_hash >= given.dedup_hash
            ORDER BY m.dedup_hash LIMIT 1
        ) AS twin
        WHERE twin.dedup_hash = given.dedup_hash
    $$
    """,
    # Half precision finds as much of the nearest by looking at some more.
    """
    CREATE OR REPLACE FUNCTION engram_search_vectors() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.ef_search = 300;
    END
    $$
    """,
    # Of a memory to be linked a handful of near ones is wanted, not the best two hundred.
    """
    CREATE FUNCTION engram_search_links() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.ef_search = 24;
        SET LOCAL enable_sort = off;
    END
    $$
    """,
)


TABLES = ("memories", "memory_passages")
MAX_DIMENSION = 4000


def upgrade() -> None:
    for statement in UPGRADE:
        op.execute(statement)
    for model, dimension in _models():
        for table in TABLES:
            op.execute(f"DROP INDEX IF EXISTS {table}_embedding_{model:d}_idx")
            if dimension <= MAX_DIMENSION:
                op.execute(
                    f"CREATE INDEX {table}_embedding_{model:d}_half_idx ON {table}"
                    f" USING hnsw ((embedding::halfvec({dimension:d})) halfvec_cosine_ops)"
                    f" WITH (m = 16, ef_construction = 64) WHERE embedding_model_id = {model:d}"
                )


def downgrade() -> None:
    # The earlier version makes its own at its start.
    for model, _ in _models():
        for table in TABLES:
            op.execute(f"DROP INDEX IF EXISTS {table}_embedding_{model:d}_half_idx")
    op.execute(
        """
        CREATE OR REPLACE FUNCTION engram_search_vectors() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.ef_search = 200;
    END
    $$
        """
    )
    op.execute("DROP FUNCTION engram_search_links()")
    op.execute("DROP FUNCTION engram_twins(uuid, bytea[])")


def _models() -> list[tuple[int, int]]:
    rows = op.get_bind().execute(text("SELECT id, dimension FROM embedding_models ORDER BY id"))
    return [(row.id, row.dimension) for row in rows]
