"""Facts: subject, predicate, object, with when they hold and when that was learnt.

A fact's row says what is believed of it now. Whatever ends it, deletes it or brings it back is appended to
``fact_closures``, so that what was believed at any moment can be told. A user's facts, and those of no user, are
partitions: the nodes that facts name, the words by which they are found and the slots in which they supersede each
other are known by hashes that hold the user, and so never meet those of another.
"""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"
OF_AGENT = "FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE"

TABLES = {
    "facts": (
        f"""
        CREATE TABLE facts (
            agent_id uuid NOT NULL,
            id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            subject_node uuid NOT NULL,
            object_node uuid NOT NULL,
            slot uuid NOT NULL,
            recorded_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            valid_from timestamptz NOT NULL,
            valid_until timestamptz,
            stated_until timestamptz,
            confidence double precision NOT NULL,
            supersede boolean NOT NULL,
            status text NOT NULL DEFAULT 'standing',
            closed_by text,
            superseded_by uuid,
            user_id text,
            subject text NOT NULL,
            predicate text NOT NULL,
            object text NOT NULL,
            sources text[] NOT NULL DEFAULT '{{}}',
            PRIMARY KEY (agent_id, id),
            {OF_AGENT},
            CONSTRAINT facts_status_check CHECK (status IN ('standing', 'deleted', 'undone')),
            CONSTRAINT facts_window_check CHECK (valid_until >= valid_from)
        )
        """,
        "CREATE INDEX facts_id_idx ON facts (id)",
        # A walk reads what was learnt last of a node, from either end.
        "CREATE INDEX facts_out_idx ON facts (agent_id, subject_node, recorded_at DESC, id)",
        "CREATE INDEX facts_in_idx ON facts (agent_id, object_node, recorded_at DESC, id)",
        # What of a slot has not ended by a moment.
        "CREATE INDEX facts_slot_idx ON facts (agent_id, slot, (coalesce(valid_until, 'infinity'::timestamptz)))",
        "CREATE INDEX facts_user_idx ON facts (agent_id, user_id, recorded_at DESC, id)",
        "CREATE INDEX facts_predicate_idx ON facts (agent_id, user_id, predicate, recorded_at DESC, id)",
    ),
    "fact_closures": (
        """
        CREATE TABLE fact_closures (
            agent_id uuid NOT NULL,
            fact_id uuid NOT NULL,
            recorded_at timestamptz NOT NULL,
            tenant_id uuid NOT NULL,
            status text NOT NULL,
            valid_until timestamptz,
            closed_by text,
            superseded_by uuid,
            PRIMARY KEY (agent_id, fact_id, recorded_at),
            FOREIGN KEY (agent_id, fact_id) REFERENCES facts (agent_id, id) ON DELETE CASCADE
        )
        """,
    ),
    "fact_memories": (
        """
        CREATE TABLE fact_memories (
            agent_id uuid NOT NULL,
            memory_id uuid NOT NULL,
            fact_id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            PRIMARY KEY (agent_id, memory_id, fact_id),
            FOREIGN KEY (agent_id, memory_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE,
            FOREIGN KEY (agent_id, fact_id) REFERENCES facts (agent_id, id) ON DELETE CASCADE
        )
        """,
        "CREATE INDEX fact_memories_fact_idx ON fact_memories (agent_id, fact_id)",
    ),
    "fact_words": (
        f"""
        CREATE TABLE fact_words (
            agent_id uuid NOT NULL,
            word uuid NOT NULL,
            node uuid NOT NULL,
            tenant_id uuid NOT NULL,
            PRIMARY KEY (agent_id, word, node),
            {OF_AGENT}
        )
        """,
        "CREATE INDEX fact_words_node_idx ON fact_words (agent_id, node)",
    ),
    "fact_slots": (
        f"""
        CREATE TABLE fact_slots (
            agent_id uuid NOT NULL,
            slot uuid NOT NULL,
            tenant_id uuid NOT NULL,
            PRIMARY KEY (agent_id, slot),
            {OF_AGENT}
        )
        """,
    ),
    "fact_merges": (
        f"""
        CREATE TABLE fact_merges (
            agent_id uuid NOT NULL,
            id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            name text NOT NULL,
            other text NOT NULL,
            recorded_at timestamptz NOT NULL,
            undone_at timestamptz,
            PRIMARY KEY (agent_id, id),
            {OF_AGENT}
        )
        """,
        "CREATE INDEX fact_merges_id_idx ON fact_merges (id)",
    ),
}

ALL = ", ".join(TABLES)
GRANTS = (
    f"GRANT SELECT ON {ALL} TO engram_reader",
    f"GRANT INSERT ON {ALL} TO engram_writer",
    "GRANT UPDATE ON facts, fact_merges TO engram_writer",
    # To lock a row takes the right to change it.
    "GRANT UPDATE ON fact_slots TO engram_writer",
    f"GRANT DELETE ON {ALL} TO engram_admin",
)


def upgrade() -> None:
    for table, statements in TABLES.items():
        for statement in statements:
            op.execute(statement)
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING (tenant_id = {TENANT})")
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")
