"""What was known at an instant, as relations to be read in place of tables.

A memory's row is what it has been since ``updated_at``; what it was before is in ``memory_versions``, with the period
in which it was known so. At each instant one of the two tells of a memory that had been written. Both are read through
their own indexes: the conditions of whoever reads the relation reach into either half.
"""

from __future__ import annotations

from datetime import datetime

from engram.db.parameters import Parameters

_SAME = (
    "agent_id, tenant_id, content, chunks, key, user_id, session_id, tags, metadata, source, confidence, valid_from,"
    " valid_until, earlier, recorded_at, superseded_by, status, version, asks, embedding_model_id, embedding,"
    " declared_relations, declared_quantities, sensitivity"
)

_WORDED = ("subject", "predicate", "object")
"""Of what a memory states, the parts that it is found by."""


def then(alias: str, at: datetime, p: Parameters) -> str:
    """Whether a row of ``memory_versions`` or ``edge_versions`` was what was known."""
    moment = p(at, "timestamptz")
    return f"{alias}.recorded_from <= {moment} AND {alias}.recorded_until > {moment}"


def memories(known_at: datetime | None, p: Parameters) -> str:
    """``memories``: the table, or what it held at that instant."""
    return "memories" if known_at is None else f"({' UNION ALL '.join(_halves(known_at, p))})"


def halves(known_at: datetime | None, p: Parameters) -> list[str]:
    """The same in parts, none of which has a row of another: what is ordered and cut off is read from each."""
    return ["memories"] if known_at is None else [f"({half})" for half in _halves(known_at, p)]


def _halves(known_at: datetime, p: Parameters) -> list[str]:
    return [
        f"SELECT id, updated_at, {_SAME} FROM memories k WHERE k.updated_at <= {p(known_at, 'timestamptz')}",
        f"SELECT memory_id AS id, recorded_from AS updated_at, {_SAME} FROM memory_versions k"
        f" WHERE {then('k', known_at, p)}",
    ]


def in_order(known_at: datetime | None, p: Parameters) -> tuple[str, str]:
    """The same in two parts, a relation and a condition on its alias ``m``, so that it can be read in the order of an
    index: a condition within either half would have both read whole, and sorted."""
    if known_at is None:
        return "memories", "true"
    moment = p(known_at, "timestamptz")
    relation = (
        f"(SELECT id, updated_at, 'infinity'::timestamptz AS known_until, {_SAME} FROM memories"
        f" UNION ALL SELECT memory_id, recorded_from, recorded_until, {_SAME} FROM memory_versions)"
    )
    return relation, f"m.updated_at <= {moment} AND m.known_until > {moment}"


def lexemes(known_at: datetime | None, p: Parameters) -> str:
    """``memory_lexemes``: the table, or with ``past`` set first what stood in texts that were changed since."""
    columns = "agent_id, tenant_id, memory_id, length, lexemes"
    if known_at is None:
        return f"(SELECT {columns}, false AS past FROM memory_lexemes)"
    return (
        f"(SELECT {columns}, false AS past FROM memory_lexemes UNION ALL"
        f" SELECT {columns}, true FROM memory_versions k WHERE {then('k', known_at, p)})"
    )


def passages(known_at: datetime | None, p: Parameters) -> str:
    """``memory_passages``: the table, or without those of what was changed since."""
    if known_at is None:
        return "memory_passages"
    return (
        "(SELECT * FROM memory_passages s WHERE NOT EXISTS (SELECT FROM memory_versions k"
        f" WHERE k.agent_id = s.agent_id AND k.memory_id = s.memory_id AND {then('k', known_at, p)}"
        f" AND {rewritten('k')}))"
    )


def rewritten(version: str) -> str:
    """Whether the text of a row of ``memory_versions``, or what it states, is another now: passages are of what is."""

    def says(alias: str) -> str:
        stated = (f"jsonb_path_query_array({alias}.declared_relations, '$[*].{part}')" for part in _WORDED)
        return f"({alias}.content, {alias}.embedding, {alias}.withheld, {', '.join(stated)})"

    return (
        f"EXISTS (SELECT FROM memories c WHERE c.agent_id = {version}.agent_id AND c.tenant_id = {version}.tenant_id"
        f" AND c.id = {version}.memory_id AND {says('c')} IS DISTINCT FROM {says(version)})"
    )
