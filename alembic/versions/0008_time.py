"""Memories that change: keys, versions, earlier periods of holding, and what was known when.

A memory's row is what it is now, from ``updated_at`` on. Whatever it was before lies in ``memory_versions``, with the
period in which the server knew it so; an edge's earlier states lie in ``edge_versions``. Neither refers to what it is a
state of: both are written and erased with it.

``valid_until`` is when a memory ceases to hold; ``stated_until`` keeps what its writer said, which a supersession cuts
short and a restoration brings back. ``earlier`` holds the periods before the last in which it held too. ``slot_hash``
stands for a key in its partition; whoever writes to one locks its row in ``memory_slots`` first.
"""

from __future__ import annotations

from sqlalchemy import text

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"

TWINS = """
    CREATE FUNCTION engram_twins(agent uuid, hashes bytea[])
    RETURNS TABLE (dedup_hash bytea, id uuid, valid_until timestamptz)
    LANGUAGE sql STABLE SET enable_sort = off AS $$
        SELECT twin.dedup_hash, twin.id, twin.valid_until
        FROM unnest(hashes) AS given (dedup_hash)
        CROSS JOIN LATERAL (
            SELECT m.dedup_hash, m.id, m.valid_until FROM memories m
            WHERE m.agent_id = agent AND m.dedup_hash >= given.dedup_hash{current}
            ORDER BY m.dedup_hash LIMIT 1
        ) AS twin
        WHERE twin.dedup_hash = given.dedup_hash
    $$
"""

MEMORIES = (
    "ALTER TABLE memories"
    " ADD COLUMN version integer NOT NULL DEFAULT 1,"
    " ADD COLUMN stated_until timestamptz,"
    " ADD COLUMN earlier tstzmultirange,"
    " ADD COLUMN slot_hash bytea",
    "UPDATE memories SET stated_until = valid_until WHERE valid_until IS NOT NULL",
    "ALTER TABLE memories DROP CONSTRAINT memories_window_check",
    # What began no later than what supersedes it has held for no time at all.
    "ALTER TABLE memories ADD CONSTRAINT memories_window_check CHECK (valid_until IS NULL"
    " OR valid_until > valid_from OR (superseded_by IS NOT NULL AND valid_until = valid_from))",
    "CREATE UNIQUE INDEX memories_slot_idx ON memories (agent_id, slot_hash)"
    " WHERE slot_hash IS NOT NULL AND status = 'current'",
    "CREATE INDEX memories_slot_order_idx ON memories (agent_id, slot_hash, valid_from) WHERE slot_hash IS NOT NULL",
    "CREATE INDEX memories_key_idx ON memories (agent_id, key, id) WHERE key IS NOT NULL",
    "CREATE INDEX memories_successor_idx ON memories (superseded_by, agent_id) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX memories_deleted_idx ON memories (deleted_at) WHERE status = 'deleted'",
    # What is superseded or deleted keeps its hash, and stands for nothing.
    "DROP INDEX memories_dedup_idx",
    "CREATE UNIQUE INDEX memories_dedup_idx ON memories (agent_id, dedup_hash)"
    " WHERE dedup_hash IS NOT NULL AND status = 'current'",
    "DROP FUNCTION engram_twins(uuid, bytea[])",
    TWINS.format(current=" AND m.status = 'current'"),
)
UNDONE_MEMORIES = (
    "DROP INDEX memories_deleted_idx",
    "DROP INDEX memories_successor_idx",
    "DROP INDEX memories_key_idx",
    "DROP INDEX memories_slot_order_idx",
    "DROP INDEX memories_slot_idx",
    "DROP FUNCTION engram_twins(uuid, bytea[])",
    TWINS.format(current=""),
    "UPDATE memories SET dedup_hash = NULL WHERE status <> 'current'",
    "DROP INDEX memories_dedup_idx",
    "CREATE UNIQUE INDEX memories_dedup_idx ON memories (agent_id, dedup_hash) WHERE dedup_hash IS NOT NULL",
    "ALTER TABLE memories DROP CONSTRAINT memories_window_check",
    "UPDATE memories SET valid_until = valid_from + interval '1 microsecond' WHERE valid_until = valid_from",
    "ALTER TABLE memories ADD CONSTRAINT memories_window_check CHECK (valid_until IS NULL OR valid_until > valid_from)",
    "ALTER TABLE memories DROP COLUMN version, DROP COLUMN stated_until, DROP COLUMN earlier, DROP COLUMN slot_hash",
)

EDGES = (
    "ALTER TABLE edges ADD COLUMN updated_at timestamptz, ADD COLUMN earlier tstzmultirange",
    "UPDATE edges SET updated_at = coalesce(invalidated_at, recorded_at)",
    "ALTER TABLE edges ALTER COLUMN updated_at SET DEFAULT now(), ALTER COLUMN updated_at SET NOT NULL",
)
UNDONE_EDGES = ("ALTER TABLE edges DROP COLUMN updated_at, DROP COLUMN earlier",)

TABLES = {
    "memory_versions": (
        """
        CREATE TABLE memory_versions (
            agent_id uuid NOT NULL,
            memory_id uuid NOT NULL,
            version integer NOT NULL,
            tenant_id uuid NOT NULL,
            recorded_from timestamptz NOT NULL,
            recorded_until timestamptz NOT NULL,
            ended_by text NOT NULL,
            status text NOT NULL,
            user_id text,
            session_id text,
            key text,
            slot_hash bytea,
            valid_from timestamptz NOT NULL,
            valid_until timestamptz,
            stated_until timestamptz,
            earlier tstzmultirange,
            recorded_at timestamptz NOT NULL,
            deleted_at timestamptz,
            superseded_by uuid,
            source text,
            confidence double precision NOT NULL,
            tags text[] NOT NULL,
            metadata jsonb NOT NULL,
            declared_entities jsonb NOT NULL,
            chunks integer NOT NULL,
            asks boolean NOT NULL,
            length integer NOT NULL,
            embedding_model_id smallint NOT NULL REFERENCES embedding_models (id),
            embedding vector NOT NULL,
            content text NOT NULL,
            lexemes bytea NOT NULL,
            PRIMARY KEY (agent_id, memory_id, version),
            CONSTRAINT memory_versions_known_check CHECK (recorded_until > recorded_from)
        )
        """,
        "CREATE INDEX memory_versions_known_idx ON memory_versions (agent_id, recorded_until, recorded_from)",
        "CREATE INDEX memory_versions_memory_idx ON memory_versions (memory_id, agent_id)",
        "CREATE INDEX memory_versions_session_idx ON memory_versions (agent_id, session_id, valid_from, memory_id)"
        " WHERE session_id IS NOT NULL AND status <> 'deleted'",
    ),
    "edge_versions": (
        """
        CREATE TABLE edge_versions (
            agent_id uuid NOT NULL,
            source_id uuid NOT NULL,
            target_id uuid NOT NULL,
            relation_type text NOT NULL,
            recorded_until timestamptz NOT NULL,
            tenant_id uuid NOT NULL,
            recorded_from timestamptz NOT NULL,
            recorded_at timestamptz NOT NULL,
            weight double precision NOT NULL,
            origin text NOT NULL,
            label text,
            reason text,
            valid_from timestamptz,
            valid_until timestamptz,
            earlier tstzmultirange,
            invalidated_at timestamptz,
            PRIMARY KEY (agent_id, source_id, target_id, relation_type, recorded_until),
            CONSTRAINT edge_versions_known_check CHECK (recorded_until > recorded_from)
        )
        """,
        "CREATE INDEX edge_versions_target_idx ON edge_versions (agent_id, target_id)",
    ),
    "memory_slots": (
        """
        CREATE TABLE memory_slots (
            agent_id uuid NOT NULL,
            slot_hash bytea NOT NULL,
            tenant_id uuid NOT NULL,
            PRIMARY KEY (agent_id, slot_hash),
            FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE
        )
        """,
    ),
}

GRANTS = (
    "GRANT SELECT ON memory_versions, edge_versions, memory_slots TO engram_reader",
    "GRANT INSERT ON memory_versions, edge_versions, memory_slots TO engram_writer",
    # To lock a row takes the right to change it.
    "GRANT UPDATE ON memory_slots TO engram_writer",
    # Links that a text no longer has go with it.
    "GRANT DELETE ON edges TO engram_writer",
    "GRANT DELETE ON memory_versions, edge_versions TO engram_admin",
    "GRANT DELETE ON memory_slots TO engram_admin",
)

FUNCTIONS = {
    "engram_expired_memories(timestamptz, integer)": """
        CREATE FUNCTION engram_expired_memories(deleted_before timestamptz, most integer)
        RETURNS TABLE (tenant_id uuid, agent_id uuid, memory_id uuid)
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN QUERY
            SELECT m.tenant_id, m.agent_id, m.id FROM memories m
            WHERE m.status = 'deleted' AND m.deleted_at <= deleted_before
            ORDER BY m.deleted_at LIMIT least(coalesce(most, 0), 10000);
        END
        $$
    """,
}


def upgrade() -> None:
    for statement in (*MEMORIES, *EDGES):
        op.execute(statement)
    for table, statements in TABLES.items():
        for statement in statements:
            op.execute(statement)
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING (tenant_id = {TENANT})")
    for statement in GRANTS:
        op.execute(statement)
    schema = op.get_bind().execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    for signature, statement in FUNCTIONS.items():
        op.execute(statement)
        op.execute(f"ALTER FUNCTION {signature} SET search_path = {schema}, pg_temp")
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO engram_server")


def downgrade() -> None:
    for signature in FUNCTIONS:
        op.execute(f"DROP FUNCTION {signature}")
    op.execute("REVOKE DELETE ON edges FROM engram_writer")
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")
    for statement in (*UNDONE_EDGES, *UNDONE_MEMORIES):
        op.execute(statement)
