"""Terms of a memory that are no words of it have the frequency 0: dates, names that it is about, phrases.

Memories that stand already get their dates; names and phrases are read from texts that are written from now on.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

UPGRADE = """
    INSERT INTO memory_terms (agent_id, term, memory_id, tenant_id, frequency, length)
    SELECT m.agent_id, dates.term, m.id, m.tenant_id, 0, coalesce(indexed.length, 0)
    FROM memories m
    LEFT JOIN LATERAL (
        SELECT t.length FROM memory_terms t WHERE t.agent_id = m.agent_id AND t.memory_id = m.id LIMIT 1
    ) AS indexed ON true
    CROSS JOIN LATERAL (
        SELECT '#' || to_char(m.valid_from AT TIME ZONE 'UTC', form) AS term
        FROM unnest(ARRAY['YYYY-MM-DD', 'YYYY-MM', 'YYYY', '"*"-MM']) AS form
    ) AS dates
    WHERE m.status <> 'deleted'
    ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    # Words stand at least once.
    op.execute("DELETE FROM memory_terms WHERE frequency = 0")
