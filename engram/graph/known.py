"""Edges as they were known at an instant, as a relation to be read in place of the table."""

from __future__ import annotations

from datetime import datetime

from engram.db.parameters import Parameters
from engram.memories.known import then

_COLUMNS = (
    "agent_id, tenant_id, source_id, target_id, relation_type, weight, origin, label, reason, valid_from, valid_until,"
    " earlier, recorded_at, invalidated_at"
)


def edges(known_at: datetime | None, p: Parameters) -> str:
    """``edges``: the table, or what it held at that instant. A link that we found counts as heavy as it is now."""
    if known_at is None:
        return "edges"
    return (
        f"(SELECT {_COLUMNS} FROM edges k WHERE k.updated_at <= {p(known_at, 'timestamptz')}"
        f" UNION ALL SELECT {_COLUMNS} FROM edge_versions k WHERE {then('k', known_at, p)})"
    )
