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

# What earlier memories name, as their next writers would count it.
FILLS = (
    """
    INSERT INTO co_occurrences (agent_id, tenant_id, memory_id, first_id, second_id, state)
    SELECT pairs.agent_id, pairs.tenant_id, pairs.memory_id, pairs.first_id, pairs.second_id, pairs.state
    FROM (
        WITH few AS MATERIALIZED (
            SELECT ranked.* FROM (
                SELECT n.agent_id, n.tenant_id, n.memory_id, n.entity_id,
                    CASE WHEN m.valid_until <= m.updated_at THEN 'past'
                         WHEN m.status = 'current' AND m.valid_until IS NULL AND m.valid_from <= m.updated_at
                         THEN 'steady' ELSE 'timed' END AS state,
                    row_number() OVER (
                        PARTITION BY n.agent_id, n.memory_id ORDER BY n.is_subject DESC, n.recognized, e.name
                    ) AS place
                FROM mentions n
                JOIN memories m ON m.agent_id = n.agent_id AND m.id = n.memory_id AND m.status <> 'deleted'
                JOIN entities e ON e.agent_id = n.agent_id AND e.id = n.entity_id
            ) AS ranked WHERE ranked.place <= 15
        )
        SELECT a.agent_id, a.tenant_id, a.memory_id, least(a.entity_id, b.entity_id) AS first_id,
            greatest(a.entity_id, b.entity_id) AS second_id, a.state,
            row_number() OVER (PARTITION BY a.agent_id, a.memory_id ORDER BY b.place, a.place) AS number
        FROM few a
        JOIN few b ON b.agent_id = a.agent_id AND b.memory_id = a.memory_id AND b.place > a.place
    ) AS pairs WHERE pairs.number <= 100
    """,
    """
    INSERT INTO entity_pairs (agent_id, tenant_id, first_id, second_id, co_occur)
    SELECT o.agent_id, o.tenant_id, o.first_id, o.second_id, count(*) FROM co_occurrences o
    WHERE o.state = 'steady' GROUP BY o.agent_id, o.tenant_id, o.first_id, o.second_id
    """,
    """
    INSERT INTO entity_degrees (agent_id, tenant_id, entity_id, degree)
    SELECT ends.agent_id, ends.tenant_id, ends.entity_id, sum(ends.co_occur) FROM (
        SELECT p.agent_id, p.tenant_id, p.first_id AS entity_id, p.co_occur FROM entity_pairs p
        UNION ALL
        SELECT p.agent_id, p.tenant_id, p.second_id, p.co_occur FROM entity_pairs p
    ) AS ends GROUP BY ends.agent_id, ends.tenant_id, ends.entity_id
    """,
)


def upgrade() -> None:
    for table, statements in TABLES.items():
        for statement in statements:
            op.execute(statement)
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING (tenant_id = {TENANT})")
    for statement in (*GRANTS, *FILLS):
        op.execute(statement)


def downgrade() -> None:
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")
