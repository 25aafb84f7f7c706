"""Triples that come with memories: what a memory declares, the facts that follow from it, and an agent's ontology.

A statement is a fact that follows from the row of its memory. Which of the values of a relation holds, where only one
may, is settled by when they start and arrive, which their rows hold.
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"

DECLARED = ("memories", "memory_versions")

FACTS = (
    "memory_id uuid",
    "subject_entity uuid",
    "object_entity uuid",
    "adapter_name text",
    "provenance text",
    "ordinal smallint",
    "arrived_at timestamptz",
    "since timestamptz",
    "held_until timestamptz",
)

CONSTRAINTS = {
    "facts_memory_fkey": ("FOREIGN KEY (agent_id, memory_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE"),
    "facts_subject_entity_fkey": (
        "FOREIGN KEY (agent_id, subject_entity) REFERENCES entities (agent_id, id) ON DELETE CASCADE"
    ),
    "facts_object_entity_fkey": (
        "FOREIGN KEY (agent_id, object_entity) REFERENCES entities (agent_id, id) ON DELETE CASCADE"
    ),
    "facts_provenance_check": "CHECK (provenance IN ('extracted', 'inferred', 'facet'))",
    # What follows from a memory has its place in it.
    "facts_statement_check": (
        "CHECK (memory_id IS NULL OR (subject_entity IS NOT NULL AND object_entity IS NOT NULL"
        " AND adapter_name IS NOT NULL AND ordinal IS NOT NULL AND arrived_at IS NOT NULL))"
    ),
}

INDEXES = {
    "facts_memory_idx": "ON facts (agent_id, memory_id) WHERE memory_id IS NOT NULL",
    # A walk reads what is said of an entity, from either end.
    "facts_subject_entity_idx": "ON facts (agent_id, subject_entity) WHERE subject_entity IS NOT NULL",
    "facts_object_entity_idx": "ON facts (agent_id, object_entity) WHERE object_entity IS NOT NULL",
    "facts_adapter_idx": "ON facts (agent_id, adapter_name, id) WHERE memory_id IS NOT NULL",
    # What a change of the ontology settles anew.
    "facts_relation_idx": "ON facts (agent_id, predicate, slot) WHERE memory_id IS NOT NULL",
}


def upgrade() -> None:
    for table in DECLARED:
        op.execute(f"ALTER TABLE {table} ADD COLUMN declared_relations jsonb NOT NULL DEFAULT '[]'")
    op.execute("ALTER TABLE memories ADD COLUMN stated_at timestamptz")
    op.execute(f"ALTER TABLE facts {', '.join(f'ADD COLUMN {column}' for column in FACTS)}")
    for name, rule in CONSTRAINTS.items():
        op.execute(f"ALTER TABLE facts ADD CONSTRAINT {name} {rule}")
    for name, rule in INDEXES.items():
        op.execute(f"CREATE INDEX {name} {rule}")
    op.execute(
        """
        CREATE TABLE ontologies (
            agent_id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            entity_types jsonb NOT NULL,
            verbs jsonb NOT NULL,
            attributes jsonb NOT NULL,
            updated_at timestamptz NOT NULL,
            PRIMARY KEY (agent_id),
            FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("ALTER TABLE ontologies ENABLE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY ontologies_tenant ON ontologies USING (tenant_id = {TENANT})")
    op.execute("GRANT SELECT ON ontologies TO engram_reader")
    op.execute("GRANT INSERT, UPDATE ON ontologies TO engram_writer")
    op.execute("GRANT DELETE ON ontologies TO engram_admin")


def downgrade() -> None:
    op.execute("DROP TABLE ontologies")
    # Without their memories they would be what somebody appended.
    op.execute("DELETE FROM facts WHERE memory_id IS NOT NULL")
    for name in reversed(INDEXES):
        op.execute(f"DROP INDEX {name}")
    for name in reversed(CONSTRAINTS):
        op.execute(f"ALTER TABLE facts DROP CONSTRAINT {name}")
    op.execute(f"ALTER TABLE facts {', '.join(f'DROP COLUMN {column.split()[0]}' for column in reversed(FACTS))}")
    op.execute("ALTER TABLE memories DROP COLUMN stated_at")
    for table in DECLARED:
        op.execute(f"ALTER TABLE {table} DROP COLUMN declared_relations")
