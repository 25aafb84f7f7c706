"""Passages of longer memories, each with a vector of its own.

A memory that stands already is found by its own vector, as before. Its passages come when it is written again.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

UPGRADE = (
    """
    CREATE TABLE memory_passages (
        agent_id uuid NOT NULL,
        memory_id uuid NOT NULL,
        position smallint NOT NULL,
        tenant_id uuid NOT NULL,
        embedding_model_id smallint NOT NULL REFERENCES embedding_models (id),
        embedding vector NOT NULL,
        PRIMARY KEY (agent_id, memory_id, position)
    )
    """,
    "ALTER TABLE memory_passages ALTER COLUMN embedding SET STORAGE MAIN",
    "CREATE INDEX memory_passages_memory_idx ON memory_passages (memory_id, agent_id)",
    "ALTER TABLE agent_counters ADD COLUMN passages bigint NOT NULL DEFAULT 0",
)


def upgrade() -> None:
    for statement in UPGRADE:
        op.execute(statement)


def downgrade() -> None:
    op.execute("ALTER TABLE agent_counters DROP COLUMN passages")
    op.execute("DROP TABLE memory_passages")
