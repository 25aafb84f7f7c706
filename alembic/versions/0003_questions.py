"""Whether a memory asks something: the turn behind it is likely to answer."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The question marks of Latin, Chinese and Japanese, and Arabic text.
    op.execute(
        "ALTER TABLE memories ADD COLUMN asks boolean NOT NULL"
        " GENERATED ALWAYS AS (position('?' in content) > 0 OR position('？' in content) > 0"
        " OR position('؟' in content) > 0) STORED"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE memories DROP COLUMN asks")
