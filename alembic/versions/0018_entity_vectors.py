"""Vectors of entities: of the name of each with what memories say where they name it.

One for each user whose memories name it, so that what is found for one follows from nothing that another wrote.
"""

from __future__ import annotations

from sqlalchemy import text

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

MAX_DIMENSION = 4000

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE entity_vectors (
            agent_id uuid NOT NULL,
            entity_id uuid NOT NULL,
            user_id text NOT NULL,
            tenant_id uuid NOT NULL,
            memory_ids uuid[] NOT NULL,
            mentions integer NOT NULL,
            digest bytea NOT NULL,
            updated_at timestamptz NOT NULL,
            embedding_model_id smallint NOT NULL,
            embedding vector NOT NULL,
            PRIMARY KEY (agent_id, entity_id, user_id),
            FOREIGN KEY (agent_id, entity_id) REFERENCES entities (agent_id, id) ON DELETE CASCADE,
            FOREIGN KEY (embedding_model_id) REFERENCES embedding_models (id)
        )
        """
    )
    # A memory that changes or goes takes with it what was made of it.
    op.execute("CREATE INDEX entity_vectors_memories_idx ON entity_vectors USING gin (memory_ids)")
    # They are counted before each recall that they lead: are they few, all are compared.
    op.execute("CREATE INDEX entity_vectors_agent_idx ON entity_vectors (agent_id) INCLUDE (tenant_id)")
    # As a server makes it for a model that is new: one that owns nothing could not.
    for model, dimension in _models():
        if dimension <= MAX_DIMENSION:
            op.execute(
                f"CREATE INDEX entity_vectors_embedding_{model:d}_half_idx ON entity_vectors"
                f" USING hnsw ((embedding::halfvec({dimension:d})) halfvec_cosine_ops)"
                f" WITH (m = 16, ef_construction = 64) WHERE embedding_model_id = {model:d}"
            )
    op.execute("ALTER TABLE entity_vectors ENABLE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY entity_vectors_tenant ON entity_vectors USING (tenant_id = {TENANT})")
    op.execute("GRANT SELECT ON entity_vectors TO engram_reader")
    op.execute("GRANT INSERT, UPDATE, DELETE ON entity_vectors TO engram_writer")


def downgrade() -> None:
    op.execute("DROP TABLE entity_vectors")


def _models() -> list[tuple[int, int]]:
    rows = op.get_bind().execute(text("SELECT id, dimension FROM embedding_models ORDER BY id"))
    return [(row.id, row.dimension) for row in rows]
