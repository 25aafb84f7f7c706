"""Who may do what: database roles without a right to own anything, row-level security, API keys, and what was changed.

A server's transactions run as one of three roles that can neither change the schema nor look past a tenant:
``engram_reader`` for reads, ``engram_writer`` for writes, ``engram_admin`` for what cannot be undone. Each becomes
current for one transaction (SET LOCAL ROLE), beside the tenant that the policies compare with. ``engram_server`` is who
may become them. By itself it reads nothing of a tenant, and may call the functions below: the few things that a server
does before it knows a tenant, or for all of them.

Roles belong to the whole cluster: they are made where they are missing, and stay when this is undone. Policies have no
subquery, and say the same of reading and of writing. Indexes that are read alone carry the tenant, or each entry would
be looked up in its table for it.
"""

from __future__ import annotations

from sqlalchemy import text

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ROLES = {"engram_reader": "", "engram_writer": "", "engram_admin": "", "engram_server": "NOINHERIT"}

# Who has whose rights. The server inherits none: it has to become one of them.
MEMBERS = (
    ("engram_reader", "engram_writer"),
    ("engram_writer", "engram_admin"),
    ("engram_reader", "engram_server"),
    ("engram_writer", "engram_server"),
    ("engram_admin", "engram_server"),
)

# Another database of the cluster may make the same role at the same moment, and grant it.
MAKE_ROLE = """
    DO $$
    BEGIN
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
            RETURN;
        END IF;
        CREATE ROLE {role} NOLOGIN {attributes};
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END
    $$
"""
# Whoever makes a role without being a superuser is its member at once, but may not become it before that is granted too
# (from PostgreSQL 16 on; before, members always may).
GRANT_ROLE = """
    DO $$
    BEGIN
        IF NOT EXISTS (
            SELECT FROM pg_auth_members m
            WHERE m.roleid = '{granted}'::regrole AND m.member = {member}
                AND coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
        ) THEN
            EXECUTE format('GRANT {granted} TO %s', {member}::regrole);
        END IF;
    EXCEPTION WHEN unique_violation THEN NULL;
    END
    $$
"""

# Where pgvector has a schema of its own, which not everybody may use.
CLOSED_EXTENSION = """
    SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector' AND NOT has_schema_privilege('engram_server', n.oid, 'USAGE')
"""

TENANT_TABLES = (
    "agents",
    "agent_counters",
    "memories",
    "memory_terms",
    "memory_lexemes",
    "memory_passages",
    "pending_projections",
    "entities",
    "entity_aliases",
    "mentions",
    "edges",
    "api_keys",
    "audit_log",
    "idempotency_keys",
)
SHARED_TABLES = ("embedding_models", "alembic_version")

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"

TABLES = (
    """
    CREATE TABLE api_keys (
        tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
        id uuid NOT NULL,
        agent_id uuid,
        name text,
        prefix text NOT NULL,
        digest bytea NOT NULL,
        role text NOT NULL,
        rate_limit text,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        revoked_at timestamptz,
        last_used_at timestamptz,
        PRIMARY KEY (tenant_id, id),
        CONSTRAINT api_keys_role_check CHECK (role IN ('viewer', 'writer', 'admin'))
    )
    """,
    "CREATE UNIQUE INDEX api_keys_digest_key ON api_keys (digest)",
    """
    CREATE TABLE audit_log (
        tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
        id uuid NOT NULL,
        recorded_at timestamptz NOT NULL,
        actor text NOT NULL,
        key_id uuid,
        key_prefix text,
        action text NOT NULL,
        agent_id uuid,
        targets uuid[] NOT NULL,
        details jsonb NOT NULL DEFAULT '{}',
        request_id text,
        PRIMARY KEY (tenant_id, id),
        CONSTRAINT audit_log_actor_check CHECK (actor IN ('key', 'anonymous', 'operator'))
    )
    """,
    "CREATE INDEX audit_log_agent_idx ON audit_log (tenant_id, agent_id, id)",
    """
    CREATE TABLE idempotency_keys (
        tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
        digest bytea NOT NULL,
        fingerprint bytea NOT NULL,
        agent_id uuid,
        status smallint NOT NULL,
        body bytea NOT NULL,
        recorded_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, digest)
    )
    """,
    "CREATE INDEX idempotency_keys_expiry_idx ON idempotency_keys (expires_at)",
    "CREATE INDEX idempotency_keys_agent_idx ON idempotency_keys (agent_id) WHERE agent_id IS NOT NULL",
)

GRANTS = (
    "GRANT SELECT ON tenants, agents, agent_counters, memories, memory_terms, memory_lexemes, memory_passages,"
    " pending_projections, entities, entity_aliases, mentions, edges, embedding_models, alembic_version"
    " TO engram_reader",
    "GRANT INSERT, UPDATE ON agents, agent_counters, memories, memory_terms, memory_lexemes, memory_passages,"
    " pending_projections, entities, entity_aliases, mentions, edges TO engram_writer",
    "GRANT DELETE ON memory_terms, memory_lexemes, memory_passages, pending_projections, mentions TO engram_writer",
    "GRANT INSERT ON audit_log TO engram_writer",
    "GRANT SELECT, INSERT, DELETE ON idempotency_keys TO engram_writer",
    "GRANT DELETE ON agents, agent_counters, memories, entities, entity_aliases, edges TO engram_admin",
    "GRANT SELECT ON audit_log TO engram_admin",
    "GRANT SELECT ON embedding_models, alembic_version TO engram_server",
)

COVERING = (
    "ALTER TABLE mentions DROP CONSTRAINT mentions_pkey",
    "ALTER TABLE mentions ADD PRIMARY KEY (agent_id, entity_id, memory_id) INCLUDE (is_subject, tenant_id)",
    "DROP INDEX mentions_memory_idx",
    "CREATE INDEX mentions_memory_idx ON mentions (memory_id, agent_id)"
    " INCLUDE (entity_id, is_subject, recognized, tenant_id)",
    "DROP INDEX mentions_subject_idx",
    "CREATE INDEX mentions_subject_idx ON mentions (agent_id, entity_id, memory_id) INCLUDE (tenant_id)"
    " WHERE is_subject",
    "DROP INDEX memories_session_idx",
    "CREATE INDEX memories_session_idx ON memories (agent_id, session_id, valid_from, id)"
    " INCLUDE (status, valid_until, tenant_id) WHERE session_id IS NOT NULL AND status <> 'deleted'",
)
UNCOVERING = (
    "DROP INDEX memories_session_idx",
    "CREATE INDEX memories_session_idx ON memories (agent_id, session_id, valid_from, id)"
    " INCLUDE (status, valid_until) WHERE session_id IS NOT NULL AND status <> 'deleted'",
    "DROP INDEX mentions_subject_idx",
    "CREATE INDEX mentions_subject_idx ON mentions (agent_id, entity_id, memory_id) WHERE is_subject",
    "DROP INDEX mentions_memory_idx",
    "CREATE INDEX mentions_memory_idx ON mentions (memory_id, agent_id) INCLUDE (entity_id, is_subject, recognized)",
    "ALTER TABLE mentions DROP CONSTRAINT mentions_pkey",
    "ALTER TABLE mentions ADD PRIMARY KEY (agent_id, entity_id, memory_id) INCLUDE (is_subject)",
)

# Foreign keys look past policies: one that named the agent alone would let a row of one tenant lie with an agent of
# another, in the way of what that tenant writes.
OF_AGENTS = ("agent_counters", "memories", "entities")
OWNED = (
    "ALTER TABLE agents ADD UNIQUE (tenant_id, id)",
    *(
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_agent_id_fkey,"
        " ADD FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE"
        for table in OF_AGENTS
    ),
)
UNOWNED = (
    *(
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_tenant_id_agent_id_fkey,"
        " ADD FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE"
        for table in OF_AGENTS
    ),
    "ALTER TABLE agents DROP CONSTRAINT agents_tenant_id_id_key",
)

# Each runs with its owner's rights, looks where it was made and nowhere else, and answers one question.
FUNCTIONS = {
    "engram_authenticate(bytea)": """
        CREATE FUNCTION engram_authenticate(given bytea)
        RETURNS TABLE (
            id uuid, tenant_id uuid, agent_id uuid, role text, prefix text, rate_limit text, expired boolean,
            revoked boolean
        )
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN QUERY
            SELECT k.id, k.tenant_id, k.agent_id, k.role, k.prefix, k.rate_limit,
                coalesce(k.expires_at <= clock_timestamp(), false), k.revoked_at IS NOT NULL
            FROM api_keys k WHERE k.digest = given;
        END
        $$
    """,
    "engram_has_keys()": """
        CREATE FUNCTION engram_has_keys() RETURNS boolean
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN EXISTS (SELECT FROM api_keys);
        END
        $$
    """,
    "engram_note_key_use(uuid[], timestamptz[])": """
        CREATE FUNCTION engram_note_key_use(ids uuid[], moments timestamptz[]) RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, used.at)
            FROM (
                SELECT l.tenant_id, l.id, u.at FROM unnest(ids, moments) AS u (id, at)
                JOIN api_keys l ON l.id = u.id
                ORDER BY l.tenant_id, l.id FOR UPDATE OF l
            ) AS used
            WHERE k.tenant_id = used.tenant_id AND k.id = used.id;
        END
        $$
    """,
    "engram_claim_projections(timestamptz, timestamptz, integer)": """
        CREATE FUNCTION engram_claim_projections(due_at timestamptz, until timestamptz, most integer)
        RETURNS TABLE (projection text, tenant_id uuid, agent_id uuid, memory_id uuid)
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            RETURN QUERY
            UPDATE pending_projections claimed SET next_attempt_at = until
            FROM (
                SELECT p.agent_id, p.memory_id, p.projection FROM pending_projections p
                WHERE p.next_attempt_at <= due_at
                ORDER BY p.next_attempt_at LIMIT least(coalesce(most, 0), 10000) FOR UPDATE SKIP LOCKED
            ) AS due
            WHERE claimed.agent_id = due.agent_id AND claimed.memory_id = due.memory_id
                AND claimed.projection = due.projection
            RETURNING claimed.projection, claimed.tenant_id, claimed.agent_id, claimed.memory_id;
        END
        $$
    """,
    "engram_count_pending()": """
        CREATE FUNCTION engram_count_pending() RETURNS bigint
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN (SELECT count(DISTINCT p.memory_id) FROM pending_projections p);
        END
        $$
    """,
    "engram_owed_projections()": """
        CREATE FUNCTION engram_owed_projections()
        RETURNS TABLE (projection text, pending bigint, failed bigint, oldest_seconds double precision)
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN QUERY
            SELECT p.projection, count(*), count(*) FILTER (WHERE p.attempts > 0),
                greatest(extract(epoch FROM now() - min(p.recorded_at)), 0)::float8
            FROM pending_projections p GROUP BY p.projection ORDER BY p.projection;
        END
        $$
    """,
    "engram_forget_answers(timestamptz, integer)": """
        CREATE FUNCTION engram_forget_answers(due_at timestamptz, most integer) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        DECLARE
            forgotten bigint;
        BEGIN
            DELETE FROM idempotency_keys gone
            USING (
                SELECT i.tenant_id, i.digest FROM idempotency_keys i
                WHERE i.expires_at <= due_at
                ORDER BY i.expires_at LIMIT least(coalesce(most, 0), 10000) FOR UPDATE SKIP LOCKED
            ) AS expired
            WHERE gone.tenant_id = expired.tenant_id AND gone.digest = expired.digest;
            GET DIAGNOSTICS forgotten = ROW_COUNT;
            RETURN forgotten;
        END
        $$
    """,
}


def upgrade() -> None:
    for role, attributes in ROLES.items():
        op.execute(MAKE_ROLE.format(role=role, attributes=attributes))
    for granted, member in MEMBERS:
        op.execute(GRANT_ROLE.format(granted=granted, member=f"'{member}'::regrole"))
    # Where the server has no login of its own it connects as the owner, who has to become its roles.
    for role in ROLES:
        op.execute(GRANT_ROLE.format(granted=role, member="current_user::regrole"))
    schema = op.get_bind().execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(f"GRANT USAGE ON SCHEMA {schema} TO {', '.join(ROLES)}")
    for other in op.get_bind().execute(text(CLOSED_EXTENSION)).scalars():
        op.execute(f"GRANT USAGE ON SCHEMA {other} TO {', '.join(ROLES)}")
    for statement in (*TABLES, *GRANTS, *COVERING, *OWNED):
        op.execute(statement)
    for table in ("tenants", *TENANT_TABLES):
        column = "id" if table == "tenants" else "tenant_id"
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING ({column} = {TENANT})")
    for table in SHARED_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_shared ON {table} FOR SELECT USING (true)")
    for signature, statement in FUNCTIONS.items():
        op.execute(statement)
        op.execute(f"ALTER FUNCTION {signature} SET search_path = {schema}, pg_temp")
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO engram_server")


def downgrade() -> None:
    for signature in FUNCTIONS:
        op.execute(f"DROP FUNCTION {signature}")
    for table in SHARED_TABLES:
        op.execute(f"DROP POLICY {table}_shared ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    for table in ("tenants", *TENANT_TABLES):
        op.execute(f"DROP POLICY {table}_tenant ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    for table in ("idempotency_keys", "audit_log", "api_keys"):
        op.execute(f"DROP TABLE {table}")
    for statement in (*UNOWNED, *UNCOVERING):
        op.execute(statement)
    schema = op.get_bind().execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {', '.join(ROLES)}")
    op.execute(f"REVOKE USAGE ON SCHEMA {schema} FROM {', '.join(ROLES)}")
