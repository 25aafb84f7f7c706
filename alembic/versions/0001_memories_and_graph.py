"""Memories, their words, the graph between them, and the entities they name.

Plain Postgres, one statement an execute. Every primary key of a domain table starts with agent_id, and so does
every unique constraint and foreign key between such tables, so that they can be distributed by it later.

Indexes that lead to a memory start with it. Of an agent that came after the last ANALYZE the planner believes that it
has no rows, and any index that starts with agent_id looks as good to it as the right one.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

UPGRADE = (
    """
    CREATE TABLE tenants (
        id uuid PRIMARY KEY,
        name text NOT NULL UNIQUE,
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    INSERT INTO tenants (id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'default')
    """,
    """
    CREATE TABLE agents (
        id uuid PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
        name text NOT NULL,
        language text NOT NULL,
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (tenant_id, name)
    )
    """,
    """
    CREATE TABLE agent_counters (
        agent_id uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        shard smallint NOT NULL,
        tenant_id uuid NOT NULL,
        memories bigint NOT NULL,
        terms bigint NOT NULL,
        PRIMARY KEY (agent_id, shard)
    ) WITH (fillfactor = 50)
    """,
    """
    CREATE TABLE embedding_models (
        id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        provider text NOT NULL,
        name text NOT NULL,
        dimension integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (provider, name, dimension)
    )
    """,
    """
    CREATE TABLE memories (
        agent_id uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        id uuid NOT NULL,
        tenant_id uuid NOT NULL,
        status text NOT NULL DEFAULT 'current',
        user_id text,
        session_id text,
        valid_from timestamptz NOT NULL,
        valid_until timestamptz,
        recorded_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        deleted_at timestamptz,
        superseded_by uuid,
        key text,
        source text,
        confidence double precision NOT NULL,
        tags text[] NOT NULL,
        metadata jsonb NOT NULL,
        declared_entities jsonb NOT NULL DEFAULT '[]',
        dedup_hash bytea,
        chunks integer NOT NULL DEFAULT 1,
        embedding_model_id smallint NOT NULL REFERENCES embedding_models (id),
        embedding vector NOT NULL,
        content text NOT NULL,
        PRIMARY KEY (agent_id, id),
        CONSTRAINT memories_status_check CHECK (status IN ('current', 'superseded', 'deleted')),
        CONSTRAINT memories_window_check CHECK (valid_until IS NULL OR valid_until > valid_from)
    )
    """,
    # A scan of embeddings must not go through TOAST: the text moves out of a long row first.
    "ALTER TABLE memories ALTER COLUMN embedding SET STORAGE MAIN",
    # Only what stands has a hash, and the predicate speaks of nothing else: no other query can take this index for its
    # leading column, as one does before tables are analysed.
    "CREATE UNIQUE INDEX memories_dedup_idx ON memories (agent_id, dedup_hash) WHERE dedup_hash IS NOT NULL",
    "CREATE INDEX memories_id_idx ON memories (id)",
    """
    CREATE INDEX memories_session_idx ON memories (agent_id, session_id, valid_from, id)
    WHERE session_id IS NOT NULL AND status <> 'deleted'
    """,
    """
    CREATE TABLE memory_terms (
        agent_id uuid NOT NULL,
        term text COLLATE "C" NOT NULL,
        memory_id uuid NOT NULL,
        tenant_id uuid NOT NULL,
        frequency smallint NOT NULL,
        length integer NOT NULL,
        PRIMARY KEY (agent_id, term, memory_id) INCLUDE (frequency, length, tenant_id)
    )
    """,
    "CREATE INDEX memory_terms_memory_idx ON memory_terms (memory_id, agent_id)",
    """
    CREATE TABLE pending_projections (
        agent_id uuid NOT NULL,
        memory_id uuid NOT NULL,
        projection text NOT NULL,
        tenant_id uuid NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        error text,
        recorded_at timestamptz NOT NULL DEFAULT now(),
        next_attempt_at timestamptz NOT NULL,
        PRIMARY KEY (agent_id, memory_id, projection)
    )
    """,
    "CREATE INDEX pending_projections_due_idx ON pending_projections (next_attempt_at)",
    """
    CREATE TABLE entities (
        agent_id uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        id uuid NOT NULL,
        tenant_id uuid NOT NULL,
        name text NOT NULL,
        display_name text NOT NULL,
        opening text COLLATE "C" NOT NULL,
        swept_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (agent_id, id),
        UNIQUE (agent_id, name)
    )
    """,
    "CREATE INDEX entities_opening_idx ON entities (agent_id, opening)",
    """
    CREATE TABLE entity_aliases (
        agent_id uuid NOT NULL,
        entity_id uuid NOT NULL,
        alias text NOT NULL,
        tenant_id uuid NOT NULL,
        PRIMARY KEY (agent_id, entity_id, alias),
        FOREIGN KEY (agent_id, entity_id) REFERENCES entities (agent_id, id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE mentions (
        agent_id uuid NOT NULL,
        entity_id uuid NOT NULL,
        memory_id uuid NOT NULL,
        tenant_id uuid NOT NULL,
        is_subject boolean NOT NULL,
        recognized boolean NOT NULL,
        PRIMARY KEY (agent_id, entity_id, memory_id),
        FOREIGN KEY (agent_id, entity_id) REFERENCES entities (agent_id, id) ON DELETE CASCADE,
        FOREIGN KEY (agent_id, memory_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX mentions_memory_idx ON mentions (memory_id, agent_id)",
    "CREATE INDEX mentions_subject_idx ON mentions (agent_id, entity_id, memory_id) WHERE is_subject",
    """
    CREATE TABLE edges (
        agent_id uuid NOT NULL,
        source_id uuid NOT NULL,
        target_id uuid NOT NULL,
        relation_type text NOT NULL,
        tenant_id uuid NOT NULL,
        weight double precision NOT NULL,
        origin text NOT NULL,
        label text,
        reason text,
        valid_from timestamptz,
        valid_until timestamptz,
        recorded_at timestamptz NOT NULL DEFAULT now(),
        invalidated_at timestamptz,
        PRIMARY KEY (agent_id, source_id, target_id, relation_type),
        FOREIGN KEY (agent_id, source_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE,
        FOREIGN KEY (agent_id, target_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE,
        CONSTRAINT edges_weight_check CHECK (weight > 0 AND weight <= 1),
        CONSTRAINT edges_no_loop_check CHECK (source_id <> target_id),
        CONSTRAINT edges_window_check CHECK (valid_until > valid_from)
    )
    """,
    """
    CREATE INDEX edges_out_idx ON edges (source_id, agent_id, weight DESC, target_id)
    WHERE invalidated_at IS NULL
    """,
    """
    CREATE INDEX edges_in_idx ON edges (target_id, agent_id, weight DESC, source_id)
    WHERE invalidated_at IS NULL
    """,
    "CREATE INDEX edges_target_idx ON edges (target_id, agent_id)",
    # SET LOCAL inside a function reaches the workers of a distributed database too; set_config() does not.
    """
    CREATE FUNCTION engram_search_vectors() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.ef_search = 200;
    END
    $$
    """,
)

TABLES = (
    "edges",
    "mentions",
    "entity_aliases",
    "entities",
    "pending_projections",
    "memory_terms",
    "memories",
    "embedding_models",
    "agent_counters",
    "agents",
    "tenants",
)


def upgrade() -> None:
    for statement in UPGRADE:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP FUNCTION engram_search_vectors()")
    for table in TABLES:
        op.execute(f"DROP TABLE {table}")
