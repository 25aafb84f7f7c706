"""What of an agent an export holds, as relations to be read in place of tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engram.db.parameters import Parameters
from engram.facts.known import Believed
from engram.memories.known import rewritten, then
from engram.memories.predicates import Visibility

_MEMORY = (
    "agent_id, tenant_id, content, key, user_id, session_id, tags, metadata, source, confidence, valid_from,"
    " valid_until, stated_until, earlier, recorded_at, deleted_at, superseded_by, status, declared_entities,"
    " declared_relations, declared_quantities, sensitivity, withheld, chunks, embedding"
)
_EDGE = (
    "agent_id, tenant_id, source_id, target_id, relation_type, weight, origin, label, reason, valid_from, valid_until,"
    " earlier, recorded_at, invalidated_at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """All of an agent, or with ``at`` what held at that moment: as the server knew it at ``known_at`` where that is
    given, and without anything of how it came about."""

    tenant_id: UUID
    agent_id: UUID
    embeddings: bool
    history: bool
    at: datetime | None
    known_at: datetime | None

    @property
    def whole(self) -> bool:
        return self.at is None

    def mine(self, alias: str, p: Parameters) -> str:
        return f"{alias}.agent_id = {p(self.agent_id, 'uuid')} AND {alias}.tenant_id = {p(self.tenant_id, 'uuid')}"

    def memories(self, p: Parameters) -> str:
        """Rows ``m`` with a memory's columns, as ``FROM memories m WHERE ...``."""
        if self.at is None:
            return f"memories m WHERE {self.mine('m', p)}" + ("" if self.history else " AND m.status <> 'deleted'")
        holding = Visibility(now=self.at, as_of=self.at).holding("m", p)
        return f"{self._known_memories(p)} m WHERE {self.mine('m', p)} AND {holding}"

    def _known_memories(self, p: Parameters) -> str:
        if self.known_at is None:
            return "memories"
        return (
            f"(SELECT id, version, updated_at, dedup_hash, {_MEMORY} FROM memories k"
            f" WHERE {self.mine('k', p)} AND k.updated_at <= {p(self.known_at, 'timestamptz')}"
            f" UNION ALL SELECT memory_id, version, recorded_from, NULL, {_MEMORY} FROM memory_versions k"
            f" WHERE {self.mine('k', p)} AND {then('k', self.known_at, p)})"
        )

    def passages(self, p: Parameters) -> str:
        """Rows ``s``: those of texts that have changed since are of other texts."""
        known = f"memory_passages s WHERE {self.mine('s', p)}"
        if self.known_at is None:
            return known
        return (
            f"{known} AND NOT EXISTS (SELECT FROM memory_versions k"
            f" WHERE {self.mine('k', p)} AND k.memory_id = s.memory_id AND {then('k', self.known_at, p)}"
            f" AND {rewritten('k')})"
        )

    def edges(self, p: Parameters) -> str:
        """Rows ``e`` with an edge's columns: those of which both ends are held."""
        if self.at is None:
            known = f"edges e WHERE {self.mine('e', p)}"
            if self.history:
                return known
            return f"{known} AND e.invalidated_at IS NULL AND {self._held('e.source_id', p)}" + (
                f" AND {self._held('e.target_id', p)}"
            )
        at = p(self.at, "timestamptz")
        return (
            f"{self._known_edges(p)} e WHERE {self.mine('e', p)} AND e.invalidated_at IS NULL"
            f" AND ((e.valid_from IS NULL OR e.valid_from <= {at}) AND (e.valid_until IS NULL OR e.valid_until > {at})"
            f" OR e.earlier @> {at})"
            f" AND {self._held('e.source_id', p)} AND {self._held('e.target_id', p)}"
        )

    def _known_edges(self, p: Parameters) -> str:
        if self.known_at is None:
            return "edges"
        return (
            f"(SELECT updated_at, {_EDGE} FROM edges k"
            f" WHERE {self.mine('k', p)} AND k.updated_at <= {p(self.known_at, 'timestamptz')}"
            f" UNION ALL SELECT recorded_from, {_EDGE} FROM edge_versions k"
            f" WHERE {self.mine('k', p)} AND {then('k', self.known_at, p)})"
        )

    def mentions(self, p: Parameters) -> str:
        """Rows ``n``."""
        known = f"mentions n WHERE {self.mine('n', p)}"
        return known if self.at is None else f"{known} AND {self._held('n.memory_id', p)}"

    def entities(self, p: Parameters) -> str:
        """Rows ``t``."""
        known = f"entities t WHERE {self.mine('t', p)}"
        if self.at is None:
            return known
        return f"{known} AND EXISTS (SELECT FROM {self.mentions(p)} AND n.entity_id = t.id)"

    def facts(self, p: Parameters) -> str:
        """Rows ``f`` of what was appended: with ``at`` what was believed and held. What memories state follows from
        their lines."""
        appended = "f.memory_id IS NULL"
        if self.at is None:
            standing = "" if self.history else " AND f.status = 'standing'"
            return f"facts f WHERE {self.mine('f', p)} AND {appended}{standing}"
        believed = Believed.of(self.tenant_id, self.agent_id, valid_at=self.at, known_at=self.known_at)
        return f"{believed.facts(p)} f WHERE {believed.seen('f', p)} AND {appended}"

    def closures(self, p: Parameters) -> str:
        """Rows ``c`` of what was appended."""
        stated = f"SELECT FROM facts f WHERE {self.mine('f', p)} AND f.id = c.fact_id AND f.memory_id IS NOT NULL"
        return f"fact_closures c WHERE {self.mine('c', p)} AND NOT EXISTS ({stated})"

    def merges(self, p: Parameters) -> str:
        """Rows ``g``. A merge holds whenever it is believed."""
        known = f"fact_merges g WHERE {self.mine('g', p)}"
        if self.known_at is not None:
            at = p(self.known_at, "timestamptz")
            return f"{known} AND g.recorded_at <= {at} AND (g.undone_at IS NULL OR g.undone_at > {at})"
        return known if self.history else f"{known} AND g.undone_at IS NULL"

    def _held(self, id: str, p: Parameters) -> str:
        return f"EXISTS (SELECT FROM {self.memories(p)} AND m.id = {id})"
