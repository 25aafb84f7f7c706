"""Use case: an agent as lines, read in one snapshot while they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.embeddings.base import EmbeddingModel
from engram.problems import NotFoundProblem, UnavailableProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope
from engram.transfer.exporting import facts, records
from engram.transfer.exporting.repository import ExportRepository, Row
from engram.transfer.exporting.selection import Selection
from engram.transfer.lines import Summary, as_line, joined
from engram.transfer.schemas import FORMAT, FORMAT_VERSION

PIECE_BYTES = 64 * 1024
"""About so much is handed on at once."""

IDLE_SECONDS = 120.0
"""How long the snapshot may lie idle while its reader is waited for: longer than any reader is."""

Record = Callable[[Row], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an export is to hold. Without history: without the states of the past, what was deleted, and edges that are
    no more."""

    embeddings: bool = True
    history: bool = True
    as_of: datetime | None = None
    known_at: datetime | None = None


class ExportService:
    def __init__(self, database: TenantDatabase, agents: AgentService, model: EmbeddingModel, *, at_once: int) -> None:
        """At most ``at_once`` exports hold a connection each for as long as their readers take."""
        self._database = database
        self._agents = agents
        self._model = model
        self._free = at_once
        self._most = at_once
        self._audit = Audit()

    async def export(self, scope: Scope, agent_id: str, wanted: Wanted) -> AsyncGenerator[bytes]:
        """The lines, in pieces. The first comes when all is settled that can be refused.

        Raises PermissionDeniedProblem for less than an admin, NotFoundProblem for an unknown agent, and
        UnavailableProblem where too many exports are under way.
        """
        scope.require(Role.admin)
        with self._place():
            await self._agents.get(scope, agent_id)
            await self._note(scope, UUID(agent_id), wanted)
            at = wanted.as_of or wanted.known_at
            selection = Selection(
                tenant_id=scope.tenant_id,
                agent_id=UUID(agent_id),
                embeddings=wanted.embeddings,
                history=wanted.history and at is None,
                at=at,
                known_at=wanted.known_at,
            )
            async with self._database.snapshot(scope) as connection:
                async for piece in self._pieces(connection, scope, selection, wanted):
                    yield piece

    async def _pieces(
        self, connection: AsyncConnection, scope: Scope, selection: Selection, wanted: Wanted
    ) -> AsyncIterator[bytes]:
        rows = ExportRepository(connection, scope, selection, self._model.dimension if selection.embeddings else 0)
        await rows.bound(IDLE_SECONDS)
        agent = await rows.agent()
        if agent is None:
            raise NotFoundProblem(f"There is no agent {selection.agent_id}.")
        counts = await rows.counts()
        summary = Summary()
        header = as_line(self._header(agent, counts, selection, wanted))
        summary.add(header, "header")
        yield header
        for kind, pages, record in _parts(rows, selection):
            async for page in pages:
                for piece in await asyncio.to_thread(_written, page, record, kind, summary):
                    yield piece
        del summary.counts["header"]
        footer = {
            "type": "footer",
            "lines": summary.lines,
            "counts": {kind: summary.counts[kind] for kind in counts},
            "sha256": summary.sha256,
        }
        yield as_line(footer)

    def _header(self, agent: Row, counts: dict[str, int], selection: Selection, wanted: Wanted) -> dict[str, Any]:
        model = self._model
        return {
            "type": "header",
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "exported_at": datetime.now(UTC),
            "agent": agent,
            "model": {"provider": model.provider, "name": model.name, "dimension": model.dimension},
            "options": {**asdict(wanted), "history": selection.history},
            "counts": counts,
        }

    async def _note(self, scope: Scope, agent_id: UUID, wanted: Wanted) -> None:
        details = {
            "embeddings": wanted.embeddings,
            "history": wanted.history,
            "as_of": wanted.as_of.isoformat() if wanted.as_of else None,
            "known_at": wanted.known_at.isoformat() if wanted.known_at else None,
        }
        async with self._database.transaction(scope) as connection:
            await self._audit.record(
                connection, scope, Action.agent_export, agent_id=agent_id, targets=[agent_id], details=details
            )

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._free:
            raise UnavailableProblem(f"The server is exporting {self._most} agents already.", retry_after=10)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


def _parts(rows: ExportRepository, selection: Selection) -> Iterator[tuple[str, AsyncIterator[list[Row]], Record]]:
    """Types of lines in their order: what a line refers to comes before it."""
    whole = selection.at is None
    yield "memory", rows.memories(), records.memory if selection.at is None else records.memory_at(selection.at)
    if whole and selection.history:
        yield "memory_version", rows.memory_versions(), records.memory_version
    yield "entity", rows.entities(), records.entity
    yield "mention", rows.mentions(), records.mention
    yield "edge", rows.edges(), records.edge if selection.at is None else records.edge_at(selection.at)
    if whole and selection.history:
        yield "edge_version", rows.edge_versions(), records.edge_version
    yield "fact", rows.facts(), facts.fact if whole else facts.fact_at
    if whole and selection.history:
        yield "fact_closure", rows.fact_closures(), facts.closure
    yield "merge", rows.merges(), facts.merge if whole else facts.merge_at


def _written(page: list[Row], record: Record, kind: str, summary: Summary) -> list[bytes]:
    """A page's lines in pieces, added up."""
    lines = []
    for row in page:
        line = as_line(record(row))
        summary.add(line, kind)
        lines.append(line)
    return list(joined(lines, PIECE_BYTES))
