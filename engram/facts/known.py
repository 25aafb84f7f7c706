"""What was believed of facts at an instant, as a relation to be read in place of the table.

A fact's row is what has been believed of it since ``updated_at``. Before that, the last closure up to the instant
tells, and before the first closure what its writer said.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from engram.db.parameters import Parameters

COLUMNS = (
    "id, agent_id, user_id, subject, predicate, object, confidence, valid_from, valid_until, stated_until, recorded_at,"
    " updated_at, sources, supersede, status, closed_by, superseded_by, memory_id, adapter_name, provenance"
)
"""What a fact shows of its row."""

_SAME = (
    "f.agent_id, f.tenant_id, f.id, f.subject_node, f.object_node, f.slot, f.recorded_at, f.valid_from, f.stated_until,"
    " f.confidence, f.supersede, f.user_id, f.subject, f.predicate, f.object, f.sources, f.memory_id, f.adapter_name,"
    " f.provenance, f.subject_entity, f.object_entity, f.arrived_at"
)


@dataclass(frozen=True, slots=True)
class Believed:
    """Facts of one agent that are seen: those that hold at ``valid_at``, as they were known at ``known_at``.

    ``ended``: where no ``valid_at`` is given, also those that have ended.
    """

    tenant_id: UUID
    agent_id: UUID
    now: datetime
    valid_at: datetime | None = None
    known_at: datetime | None = None
    ended: bool = False

    @classmethod
    def of(
        cls,
        tenant_id: UUID,
        agent_id: UUID,
        *,
        valid_at: datetime | None,
        known_at: datetime | None,
        ended: bool = False,
    ) -> Believed:
        return cls(tenant_id, agent_id, datetime.now(UTC), valid_at, known_at, ended)

    def facts(self, p: Parameters) -> str:
        """The relation, to be given an alias."""
        if self.known_at is None:
            return "facts"
        known = p(self.known_at, "timestamptz")
        return f"""(
            SELECT {_SAME},
                CASE WHEN f.updated_at <= {known} THEN f.updated_at ELSE coalesce(c.recorded_at, f.recorded_at) END
                    AS updated_at,
                CASE WHEN f.updated_at <= {known} THEN f.status ELSE coalesce(c.status, 'standing') END AS status,
                CASE WHEN f.updated_at <= {known} THEN f.valid_until
                     WHEN c.status IS NULL THEN f.stated_until ELSE c.valid_until END AS valid_until,
                CASE WHEN f.updated_at <= {known} THEN f.closed_by ELSE c.closed_by END AS closed_by,
                CASE WHEN f.updated_at <= {known} THEN f.superseded_by ELSE c.superseded_by END AS superseded_by
            FROM facts f
            LEFT JOIN LATERAL (
                SELECT l.recorded_at, l.status, l.valid_until, l.closed_by, l.superseded_by FROM fact_closures l
                WHERE {self.mine("l", p)} AND l.fact_id = f.id AND l.recorded_at <= {known}
                ORDER BY l.recorded_at DESC LIMIT 1
            ) c ON f.updated_at > {known}
            WHERE {self.mine("f", p)} AND f.recorded_at <= {known}
        )"""

    def mine(self, alias: str, p: Parameters) -> str:
        """The scope."""
        return f"{alias}.agent_id = {p(self.agent_id, 'uuid')} AND {alias}.tenant_id = {p(self.tenant_id, 'uuid')}"

    def seen(self, alias: str, p: Parameters) -> str:
        """The scope, and that a fact is believed and holds."""
        clauses = [self.mine(alias, p), f"{alias}.status = 'standing'"]
        if self.valid_at is not None:
            clauses.append(f"{alias}.valid_from <= {p(self.valid_at, 'timestamptz')}")
        if self.valid_at is not None or not self.ended:
            at = p(self.valid_at or self.known_at or self.now, "timestamptz")
            clauses.append(f"({alias}.valid_until IS NULL OR {alias}.valid_until > {at})")
        if self.valid_at is None and not self.ended:
            # What its memory ceased to state before it was to begin is not to begin any more.
            ends = f"{alias}.valid_until"
            clauses.append(f"({alias}.memory_id IS NULL OR {ends} IS NULL OR {ends} > {alias}.valid_from)")
        return " AND ".join(clauses)
