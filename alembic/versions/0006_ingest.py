"""Functions that make a write's look-ups keep to their index, whatever the planner believes of the agent.

Of an agent that came after the last ANALYZE the planner believes that it has one row, and then the primary key looks
as good as any index: it would read the whole agent, for each memory that is written. Only a path through the index
meant gives its order, so where sorting is off no other one is taken.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0004"
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
    # Of a memory to be linked a handful of near ones is wanted, not the best two hundred.
    """
    CREATE FUNCTION engram_search_links() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.ef_search = 40;
        SET LOCAL enable_sort = off;
    END
    $$
    """,
)


def upgrade() -> None:
    for statement in UPGRADE:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP FUNCTION engram_search_links()")
    op.execute("DROP FUNCTION engram_twins(uuid, bytea[])")
