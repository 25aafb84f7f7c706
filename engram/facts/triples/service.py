"""Use cases of facts by what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.entities.graph.names import EntityNames
from engram.facts.known import Believed
from engram.facts.names import predicate_name
from engram.facts.repository import FactRepository
from engram.facts.schemas import ClosurePolicy, FactStatus, Provenance
from engram.facts.statements.repository import StatementRepository
from engram.facts.statements.service import StatementService
from engram.facts.triples.repository import After, TripleFilter, TripleRepository
from engram.facts.triples.schemas import (
    AdapterExpired,
    AdapterExpiry,
    Triple,
    TriplePage,
    TripleSort,
    TripleSource,
)
from engram.memories.schemas import MemoryStatus
from engram.paging import CountKey, NameKey, decode_cursor, encode_cursor
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.wire import Instant

_COUNTED: TypeAdapter[tuple[int, str, str, str, str]] = TypeAdapter(tuple[CountKey, NameKey, NameKey, NameKey, NameKey])
_TIMED: TypeAdapter[tuple[datetime, str, str, str, str]] = TypeAdapter(
    tuple[Instant, NameKey, NameKey, NameKey, NameKey]
)

EXPIRED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleQuestion:
    """Which triples are asked for, by names as they are written."""

    agent_id: str
    subject: str | None = None
    object: str | None = None
    relation: str | None = None
    entity: str | None = None
    provenance: Provenance | None = None
    adapter: str | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    include_ended: bool = False
    include_sources: bool = False
    include_source_status: bool = False
    sort_by: TripleSort = TripleSort.co_occur


class TripleService:
    def __init__(
        self,
        database: TenantDatabase,
        agents: AgentService,
        names: EntityNames,
        statements: StatementService,
    ) -> None:
        self._database = database
        self._agents = agents
        self._names = names
        self._statements = statements
        self._audit = Audit()

    async def list(self, scope: Scope, question: TripleQuestion, *, limit: int, cursor: str | None) -> TriplePage:
        """Triples that hold at a moment, or have not ended. Raises NotFoundProblem for an unknown agent."""
        after = _after(cursor, question.sort_by)
        agent_id = UUID(question.agent_id)
        with_sources = question.include_sources or question.include_source_status
        async with self._database.snapshot(scope) as connection:
            wanted = await self._wanted(connection, scope, question)
            believed = Believed.of(
                scope.tenant_id,
                agent_id,
                valid_at=question.as_of,
                known_at=question.known_at,
                ended=question.include_ended,
            )
            rows = await TripleRepository(connection, believed).page(
                wanted, sort_by=question.sort_by, limit=limit + 1, after=after, sources=with_sources
            )
        data = [_triple(row, question, believed.now) for row in rows[:limit]]
        last = rows[limit - 1] if len(rows) > limit else None
        return TriplePage(data=data, next_cursor=_cursor(last, question.sort_by) if last is not None else None)

    async def expire_by_adapter(self, scope: Scope, request: AdapterExpiry) -> AdapterExpired:
        """Believe no longer what one extractor said: as if it had not been said, what it had ended holds on.

        The memories stay. Restating them, as a rebuild or a restoration does, brings nothing of it back; a fact can be
        restored by itself. Raises NotFoundProblem for an unknown agent.
        """
        agent_id = UUID(request.agent_id)
        async with self._database.transaction(scope) as connection:
            await self._agents.hold_alone(connection, scope, agent_id)
            expired, changed = await self._expire(connection, scope, agent_id, request)
            await self._audit.record(
                connection,
                scope,
                Action.fact_expire,
                agent_id=agent_id,
                targets=[agent_id],
                details={"adapter": request.adapter_name, "expired": expired, "changed": changed},
            )
        return AdapterExpired(
            agent_id=request.agent_id, adapter_name=request.adapter_name, expired=expired, changed=changed
        )

    async def _expire(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, request: AdapterExpiry
    ) -> tuple[int, int]:
        statements, facts = StatementRepository(connection, scope), FactRepository(connection, scope)
        expired, others, last = 0, set[UUID](), None
        while True:
            ids = await statements.by_adapter(
                agent_id, request.adapter_name, request.max_confidence, after=last, most=EXPIRED_AT_ONCE
            )
            if ids:
                rows = await statements.by_ids(agent_id, ids)
                await facts.lock_slots(agent_id, {row.slot for row in rows})
                done = await self._statements.change(
                    connection, scope, agent_id, ids, FactStatus.deleted, ClosurePolicy.adapter
                )
                others |= {closure.fact_id for closure in done if closure.status is FactStatus.standing}
                others -= set(ids)
                expired, last = expired + len(ids), ids[-1]
            if len(ids) < EXPIRED_AT_ONCE:
                return expired, len(others)

    async def _wanted(self, connection: AsyncConnection, scope: Scope, question: TripleQuestion) -> TripleFilter:
        agent_id = UUID(question.agent_id)
        names = {end: getattr(question, end) for end in ("subject", "object", "entity")}
        given = {end: name for end, name in names.items() if name is not None}
        merged, found = await self._names.find(connection, scope, agent_id, list(given.values()), question.known_at)
        ids: dict[str, Sequence[UUID]] = {
            end: entity.ids if entity is not None else () for end, entity in zip(given, found, strict=True)
        }
        return TripleFilter(
            subject=ids.get("subject"),
            object=ids.get("object"),
            entity=ids.get("entity"),
            relation=predicate_name(question.relation) if question.relation is not None else None,
            provenance=question.provenance,
            adapter=question.adapter,
            merged=dict(zip(merged.ids, merged.firsts, strict=True)),
        )


def _after(cursor: str | None, sort_by: TripleSort) -> After | None:
    if cursor is None:
        return None
    if sort_by is TripleSort.co_occur:
        return decode_cursor(cursor, _COUNTED)
    return decode_cursor(cursor, _TIMED)


def _cursor(row: Mapping[str, Any], sort_by: TripleSort) -> str:
    first = row["co_occur"] if sort_by is TripleSort.co_occur else row["last_seen"].isoformat()
    return encode_cursor(first, row["subject"], row["predicate"], row["object"], row["key"])


def _triple(row: Mapping[str, Any], question: TripleQuestion, now: datetime) -> Triple:
    sources, stale = None, None
    if question.include_sources or question.include_source_status:
        sources = [_source(source, question) for source in row["sources"] or ()]
    if question.include_source_status:
        at = question.as_of or question.known_at or now
        open = row["valid_until"] is None or row["valid_until"] > at.astimezone(UTC)
        stale = bool(open and row["outlived"])
    return Triple(
        subject=row["subject"],
        subject_display_name=row["subject_shown"],
        relation=row["predicate"],
        object=row["object"],
        object_display_name=row["object_shown"],
        co_occur=row["co_occur"],
        confidence=row["confidence"],
        provenance=row["provenance"],
        adapters=row["adapters"],
        valid_from=row["valid_from"],
        valid_until=row["valid_until"],
        last_seen=row["last_seen"],
        sources=sources,
        stale=stale,
    )


def _source(source: Mapping[str, Any], question: TripleQuestion) -> TripleSource:
    status = MemoryStatus(source["status"]) if question.include_source_status else None
    return TripleSource(memory_id=source["memory_id"], key=source["key"], status=status)
