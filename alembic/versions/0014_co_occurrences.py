"""Which entities occur together: an observation for each pair in a memory, and what these add up to.

An observation follows from what its memory names and from when it holds, and is written with that. One that is steady
holds from its beginning on with no end in sight: these are counted, by pair and by entity. Others are looked at when
somebody asks.
"""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TENANT = "nullif(current_setting('engram.tenant_id', true), '')::uuid"


def _entity(column: str) -> str:
    return f"FOREIGN KEY (agent_id, {column}) REFERENCES entities (agent_id, id) ON DELETE CASCADE"


TABLES = {
    "co_occurrences": (
        f"""
        CREATE TABLE co_occurrences (
            agent_id uuid NOT NULL,
            memory_id uuid NOT NULL,
            first_id uuid NOT NULL,
            second_id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            state text NOT NULL,
            PRIMARY KEY (agent_id, memory_id, first_id, second_id),
            FOREIGN KEY (agent_id, memory_id) REFERENCES memories (agent_id, id) ON DELETE CASCADE,
            {_entity("first_id")},
            {_entity("second_id")},
            CONSTRAINT co_occurrences_state_check CHECK (state IN ('steady', 'timed', 'past')),
            CONSTRAINT co_occurrences_order_check CHECK (first_id < second_id)
        )
        """,
        "CREATE INDEX co_occurrences_first_idx ON co_occurrences (agent_id, first_id, second_id)"
        " INCLUDE (memory_id, state, tenant_id)",
        "CREATE INDEX co_occurrences_second_idx ON co_occurrences (agent_id, second_id, first_id)"
        " INCLUDE (memory_id, state, tenant_id)",
        "CREATE INDEX co_occurrences_timed_first_idx ON co_occurrences (agent_id, first_id) WHERE state = 'timed'",
        "CREATE INDEX co_occurrences_timed_second_idx ON co_occurrences (agent_id, second_id) WHERE state = 'timed'",
    ),
    "entity_pairs": (
        f"""
        CREATE TABLE entity_pairs (
            agent_id uuid NOT NULL,
            first_id uuid NOT NULL,
            second_id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            co_occur bigint NOT NULL,
            PRIMARY KEY (agent_id, first_id, second_id) INCLUDE (co_occur, tenant_id),
            {_entity("first_id")},
            {_entity("second_id")}
        )
        """,
        "CREATE INDEX entity_pairs_second_idx ON entity_pairs (agent_id, second_id, first_id)"
        " INCLUDE (co_occur, tenant_id)",
    ),
    "entity_degrees": (
        f"""
        CREATE TABLE entity_degrees (
            agent_id uuid NOT NULL,
            entity_id uuid NOT NULL,
            tenant_id uuid NOT NULL,
            degree bigint NOT NULL,
            PRIMARY KEY (agent_id, entity_id) INCLUDE (degree, tenant_id),
            {_entity("entity_id")}
        )
        """,
        "CREATE INDEX entity_degrees_top_idx ON entity_degrees (agent_id, degree DESC, entity_id)",
    ),
}

ALL = ", ".join(TABLES)
GRANTS = (
    f"GRANT SELECT ON {ALL} TO engram_reader",
    f"GRANT INSERT, UPDATE, DELETE ON {ALL} TO engram_writer",
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
