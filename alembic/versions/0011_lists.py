"""Lists find their pages: what a user has, what began, held or was changed in a time, what has a key that begins so.

Those by time are for lists alone. A statement that looks up few rows by other means would be tempted, before tables are
analysed, to read all that began since; it does not say what is true of every memory, that its confidence is at least 0.

Keys are in the order of code points, whatever the collation of the database: those that begin alike are a range.
"""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

INDEXES = {
    "memories_user_idx": "(agent_id, user_id, id) WHERE user_id IS NOT NULL",
    "memories_begun_idx": "(agent_id, valid_from) WHERE confidence >= 0",
    "memories_earlier_idx": "(agent_id) WHERE earlier IS NOT NULL",
    "memories_changed_idx": "(agent_id, updated_at) WHERE confidence >= 0",
}


def upgrade() -> None:
    _collate("C")
    for name, definition in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON memories {definition}")


def downgrade() -> None:
    for name in reversed(INDEXES):
        op.execute(f"DROP INDEX {name}")
    _collate("default")


def _collate(collation: str) -> None:
    for table in ("memories", "memory_versions"):
        op.execute(f'ALTER TABLE {table} ALTER COLUMN key TYPE text COLLATE "{collation}"')
