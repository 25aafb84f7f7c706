"""The words of a memory in one narrow row: a candidate is scored by one look-up, whatever the query holds.

Beside them the index of postings stays what finds candidates.
"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

UPGRADE = (
    """
    CREATE TABLE memory_lexemes (
        agent_id uuid NOT NULL,
        memory_id uuid NOT NULL,
        tenant_id uuid NOT NULL,
        length integer NOT NULL,
        lexemes bytea NOT NULL,
        PRIMARY KEY (agent_id, memory_id)
    )
    """,
    # Packed as engram/text/lexemes.py packs them.
    """
    INSERT INTO memory_lexemes (agent_id, memory_id, tenant_id, length, lexemes)
    SELECT t.agent_id, t.memory_id, t.tenant_id, max(t.length),
        string_agg(digest.hash || int2send(t.frequency), ''::bytea ORDER BY digest.hash)
    FROM memory_terms t
    CROSS JOIN LATERAL (SELECT substring(decode(md5(t.term), 'hex') FROM 1 FOR 8) AS hash) AS digest
    GROUP BY t.agent_id, t.memory_id, t.tenant_id
    """,
    # Walks read who stands beside whom in a session, and who names what, from the indexes alone.
    "DROP INDEX memories_session_idx",
    """
    CREATE INDEX memories_session_idx ON memories (agent_id, session_id, valid_from, id) INCLUDE (status, valid_until)
    WHERE session_id IS NOT NULL AND status <> 'deleted'
    """,
    "ALTER TABLE mentions DROP CONSTRAINT mentions_pkey",
    "ALTER TABLE mentions ADD PRIMARY KEY (agent_id, entity_id, memory_id) INCLUDE (is_subject)",
    "DROP INDEX mentions_memory_idx",
    "CREATE INDEX mentions_memory_idx ON mentions (memory_id, agent_id) INCLUDE (entity_id, is_subject, recognized)",
)

DOWNGRADE = (
    "DROP INDEX memories_session_idx",
    """
    CREATE INDEX memories_session_idx ON memories (agent_id, session_id, valid_from, id)
    WHERE session_id IS NOT NULL AND status <> 'deleted'
    """,
    "DROP INDEX mentions_memory_idx",
    "CREATE INDEX mentions_memory_idx ON mentions (memory_id, agent_id)",
    "ALTER TABLE mentions DROP CONSTRAINT mentions_pkey",
    "ALTER TABLE mentions ADD PRIMARY KEY (agent_id, entity_id, memory_id)",
    "DROP TABLE memory_lexemes",
)


def upgrade() -> None:
    for statement in UPGRADE:
        op.execute(statement)


def downgrade() -> None:
    for statement in DOWNGRADE:
        op.execute(statement)
