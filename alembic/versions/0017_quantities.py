"""Numbers that come with memories, and how sensitive memories are.

What a memory declares is in its row; ``derived_facts`` follow from it, as mentions and statements do.
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"

ROWS = ("memories", "memory_versions")
COLUMNS = (
    "declared_quantities jsonb NOT NULL DEFAULT '[]'",
    "sensitivity text NOT NULL DEFAULT 'normal'",
    "withheld boolean NOT NULL DEFAULT false",
)


def upgrade() -> None:
    for table in ROWS:
        op.execute(f"ALTER TABLE {table} {', '.join(f'ADD COLUMN {column}' for column in COLUMNS)}")
        op.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_sensitivity_check CHECK (sensitivity IN ('normal', 'high'))"
        )
    op.execute(
        """
        CREATE TABLE derived_facts (
            agent_id uuid NOT NULL,
            id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            memory_id uuid NOT NULL,
            entity_id uuid NOT NULL,
            attribute text NOT NULL,
            value double precision NOT NULL,
            unit text,
            at timestamptz NOT NULL,
            PRIMARY KEY (agent_id, id),
            FOREIGN KEY (agent_id, memory_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE,
            FOREIGN KEY (agent_id, entity_id) REFERENCES entities (agent_id, id) ON DELETE CASCADE
        )
        """
    )
    # What is computed of an entity reads it in the order of time.
    op.execute("CREATE INDEX derived_facts_entity_idx ON derived_facts (agent_id, entity_id, attribute, at, id)")
    op.execute("CREATE INDEX derived_facts_memory_idx ON derived_facts (agent_id, memory_id)")
    op.execute("ALTER TABLE derived_facts ENABLE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY derived_facts_tenant ON derived_facts USING (tenant_id = {TENANT})")
    op.execute("GRANT SELECT ON derived_facts TO engram_reader")
    op.execute("GRANT INSERT, UPDATE, DELETE ON derived_facts TO engram_writer")


def downgrade() -> None:
    op.execute("DROP TABLE derived_facts")
    for table in ROWS:
        op.execute(f"ALTER TABLE {table} {', '.join(f'DROP COLUMN {column.split()[0]}' for column in COLUMNS)}")
