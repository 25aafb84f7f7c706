"""Communities of entities, by level, and when those of an agent were computed.

A community is known by its strongest member, which is a row of ``entities``: with it the community goes.
"""

from __future__ import annotations

from sqlalchemy import text

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"


def _entity(column: str) -> str:
    return f"FOREIGN KEY (agent_id, {column}) REFERENCES entities (agent_id, id) ON DELETE CASCADE"


TABLES = {
    "entity_communities": (
        f"""
        CREATE TABLE entity_communities (
            agent_id uuid NOT NULL,
            entity_id uuid NOT NULL,
            level smallint NOT NULL,
            community_id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            PRIMARY KEY (agent_id, entity_id, level),
            {_entity("entity_id")},
            {_entity("community_id")},
            CONSTRAINT entity_communities_level_check CHECK (level >= 0)
        )
        """,
        "CREATE INDEX entity_communities_members_idx ON entity_communities (agent_id, community_id, level, entity_id)"
        " INCLUDE (tenant_id)",
    ),
    "entity_community_runs": (
        """
        CREATE TABLE entity_community_runs (
            agent_id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL,
            computed_at timestamptz NOT NULL,
            entities integer NOT NULL,
            dropped integer NOT NULL,
            levels integer NOT NULL,
            FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE
        )
        """,
    ),
}

ALL = ", ".join(TABLES)
GRANTS = (
    f"GRANT SELECT ON {ALL} TO engram_reader",
    f"GRANT INSERT, UPDATE, DELETE ON {ALL} TO engram_writer",
)

# One job of an agent at a time: two would compute the same.
OPEN = (
    "CREATE UNIQUE INDEX jobs_communities_idx ON jobs (agent_id)"
    " WHERE kind = 'entity_communities' AND status IN ('waiting', 'running')"
)

SIGNATURE = "engram_changed_communities(integer)"
# Runs with its owner's rights, looks where it was made and nowhere else, and answers one question. What a transaction
# wrote that had not ended when an agent was read is at most a minute older than that.
FUNCTION = """
    CREATE FUNCTION engram_changed_communities(most integer) RETURNS TABLE (tenant_id uuid, agent_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
    BEGIN
        RETURN QUERY
        SELECT a.tenant_id, a.id FROM agents a
        LEFT JOIN entity_community_runs r ON r.agent_id = a.id
        WHERE NOT a.importing
            AND (
                CASE WHEN r.agent_id IS NULL THEN
                    EXISTS (SELECT FROM entity_degrees d WHERE d.agent_id = a.id)
                ELSE
                    EXISTS (
                        SELECT FROM memories m WHERE m.agent_id = a.id AND m.confidence >= 0
                            AND m.updated_at > r.computed_at - interval '1 minute'
                    )
                    OR EXISTS (
                        SELECT FROM fact_merges g WHERE g.agent_id = a.id
                            AND greatest(g.recorded_at, g.undone_at) > r.computed_at - interval '1 minute'
                    )
                    OR EXISTS (
                        SELECT FROM jobs j WHERE j.agent_id = a.id AND j.kind IN ('projection', 'rebuild_links')
                            AND j.finished_at > r.computed_at - interval '1 minute'
                    )
                END
            )
            AND NOT EXISTS (
                SELECT FROM jobs o WHERE o.agent_id = a.id AND o.kind = 'entity_communities'
                    AND o.status IN ('waiting', 'running')
            )
        ORDER BY r.computed_at NULLS FIRST, a.id LIMIT least(coalesce(most, 0), 10000);
    END
    $$
"""


def upgrade() -> None:
    for table, statements in TABLES.items():
        for statement in statements:
            op.execute(statement)
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING (tenant_id = {TENANT})")
    for statement in (*GRANTS, OPEN, FUNCTION):
        op.execute(statement)
    schema = op.get_bind().execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(f"ALTER FUNCTION {SIGNATURE} SET search_path = {schema}, pg_temp")
    op.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {SIGNATURE} TO engram_server")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {SIGNATURE}")
    op.execute("DROP INDEX jobs_communities_idx")
    # A worker of the revision before knows no such jobs.
    op.execute("DELETE FROM jobs WHERE kind = 'entity_communities'")
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")
