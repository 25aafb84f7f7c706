"""Fragments of statements that change edges and keep what they were before.

Whoever changes edges locks them first, in the order of their keys, each statement over all of its edges: so two writers
with overlapping sets wait for each other, and never in a circle. An edge that is there is locked by the same statement
that inserts those that are not, since another writer may bring one in between two statements.
"""

from __future__ import annotations

KEY = "agent_id, source_id, target_id, relation_type"

IN_ORDER = "source_id, target_id, relation_type"
"""How edges of one agent are sorted before they are locked."""

_STATE = "tenant_id, recorded_at, weight, origin, label, reason, valid_from, valid_until, earlier, invalidated_at"

OR_LOCKED = f"ON CONFLICT ({KEY}) DO UPDATE SET weight = edge.weight WHERE false"
"""Ends an ``INSERT INTO edges AS edge``: what is there is locked and stays as it is."""


def archived(rows: str, *, until: str = "changed_at") -> str:
    """A statement that keeps the edges in the relation ``rows`` as they are, known until the column ``until``."""
    return (
        f"INSERT INTO edge_versions ({KEY}, recorded_from, recorded_until, {_STATE})"
        f" SELECT {KEY}, updated_at, {until}, {_STATE} FROM {rows}"
    )


def changed_at(alias: str, now: str) -> str:
    """When an edge is known otherwise: now, but later than it became what it is, though clocks go wrong."""
    return f"greatest({now}, {alias}.updated_at + interval '1 microsecond')"


def known_from(alias: str, now: str) -> str:
    """From when on a new edge is known: now, but not before what was known of one with the same key has ended."""
    return (
        f"greatest({now}, (SELECT max(v.recorded_until) FROM edge_versions v WHERE v.agent_id = $1"
        f" AND v.tenant_id = $2 AND v.source_id = {alias}.source_id AND v.target_id = {alias}.target_id"
        f" AND v.relation_type = {alias}.relation_type))"
    )
