"""What a hop costs, by agent: multipliers of relations and the hop penalty, where they are not the server's."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE agents"
        " ADD COLUMN decay_multipliers jsonb NOT NULL DEFAULT '{}'::jsonb,"
        " ADD COLUMN hop_penalty double precision"
        " CONSTRAINT agents_hop_penalty_check CHECK (hop_penalty >= 0 AND hop_penalty < 1)"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE agents DROP COLUMN hop_penalty, DROP COLUMN decay_multipliers")
