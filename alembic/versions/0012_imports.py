"""Agents that are being imported, which nobody sees before all of one is there.

What an import wrote stays behind where its server is killed. Such agents are found over all tenants, and erased.
"""

from __future__ import annotations

from sqlalchemy import text

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Nothing of an agent that is being imported is erased before all of it is there.
EXPIRED = """
    CREATE OR REPLACE FUNCTION engram_expired_memories(deleted_before timestamptz, most integer)
    RETURNS TABLE (tenant_id uuid, agent_id uuid, memory_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
    BEGIN
        RETURN QUERY
        SELECT m.tenant_id, m.agent_id, m.id FROM memories m
        WHERE m.status = 'deleted' AND m.deleted_at <= deleted_before{but}
        ORDER BY m.deleted_at LIMIT least(coalesce(most, 0), 10000);
    END
    $$
"""
BUT_IMPORTING = " AND NOT EXISTS (SELECT FROM agents a WHERE a.id = m.agent_id AND a.importing)"

FUNCTION = "engram_abandoned_imports(timestamptz, integer)"


def upgrade() -> None:
    op.execute("ALTER TABLE agents ADD COLUMN importing boolean NOT NULL DEFAULT false")
    op.execute("CREATE INDEX agents_importing_idx ON agents (updated_at) WHERE importing")
    op.execute(
        """
        CREATE FUNCTION engram_abandoned_imports(silent_since timestamptz, most integer)
        RETURNS TABLE (tenant_id uuid, agent_id uuid)
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN QUERY
            SELECT a.tenant_id, a.id FROM agents a
            WHERE a.importing AND a.updated_at <= silent_since
            ORDER BY a.updated_at LIMIT least(coalesce(most, 0), 10000);
        END
        $$
        """
    )
    schema = op.get_bind().execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(EXPIRED.format(but=BUT_IMPORTING))
    expired = "engram_expired_memories(timestamptz, integer)"
    op.execute(f"ALTER FUNCTION {expired} SET search_path = {schema}, pg_temp")
    op.execute(f"ALTER FUNCTION {FUNCTION} SET search_path = {schema}, pg_temp")
    op.execute(f"REVOKE ALL ON FUNCTION {FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {FUNCTION} TO engram_server")


def downgrade() -> None:
    op.execute(EXPIRED.format(but=""))
    schema = op.get_bind().execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    expired = "engram_expired_memories(timestamptz, integer)"
    op.execute(f"ALTER FUNCTION {expired} SET search_path = {schema}, pg_temp")
    op.execute(f"DROP FUNCTION {FUNCTION}")
    # What of an agent was imported when the server was stopped is no agent that anybody should see.
    op.execute("DELETE FROM agents WHERE importing")
    op.execute("DROP INDEX agents_importing_idx")
    op.execute("ALTER TABLE agents DROP COLUMN importing")
