"""An agent on its way in: batches of lines written in short transactions, and shown when all are there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

import asyncpg

from engram.agents.schemas import Agent
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.embeddings.base import Embedder
from engram.facts.statements.service import StatementService
from engram.memories.registration import model_replaced
from engram.problems import ConflictProblem, InvalidInputProblem, UnavailableProblem
from engram.tenants.database import TenantDatabase
from engram.transfer.importing.fact_making import FactMaking
from engram.transfer.importing.reading import Batch, Lines
from engram.transfer.importing.repository import ImportRepository
from engram.transfer.importing.rows import Made, Rows, Texts
from engram.transfer.importing.staging import LEASE, Staging, given_up
from engram.transfer.renaming import Renaming
from engram.transfer.schemas import HeaderLine

OBSERVED_AT_ONCE = 1_000
"""Memories of which it is counted in one transaction what occurs together."""

_MODEL = ("memories_embedding_model_id_fkey", "memory_versions_embedding_model_id_fkey")
_CONSTRAINTS = {
    "memories_slot_idx": ("key", "another memory is current under this key, for the same user and session"),
    "memories_dedup_idx": ("twin", "another current memory has this text, for the same user, session and key"),
    "entities_agent_id_name_key": ("name", "is another entity's"),
    "edges_agent_id_source_id_fkey": ("source_id", "is no memory of this file"),
    "edges_agent_id_target_id_fkey": ("target_id", "is no memory of this file"),
    "mentions_agent_id_memory_id_fkey": ("memory_id", "is no memory of this file"),
    "mentions_agent_id_entity_id_fkey": ("entity_id", "is no entity of this file"),
}
"""What the database found wrong with a line: the field, and what is said of it."""


STATED_AT_ONCE = 500
"""Memories of which facts are stated in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """``name`` is that of the header unless given. With new ids an agent can stand beside what it was exported from.
    ``reembed``: vectors are made anew from the texts, by this server's model."""

    name: str | None = None
    ids: Literal["keep", "new"] = "keep"
    reembed: bool = False


@dataclass(slots=True)
class _Totals:
    memories: int = 0
    terms: int = 0
    passages: int = 0
    embedded: int = 0


class Making:
    """One agent on its way in."""

    def __init__(
        self,
        database: TenantDatabase,
        embedder: Embedder,
        staging: Staging,
        header: HeaderLine,
        wanted: Wanted,
        *,
        embedded: bool,
        passage_chars: int,
        owed: Sequence[str],
    ) -> None:
        """``embedded``: the vectors of the file are used. ``owed`` are the projections whose work no file has."""
        self._database = database
        self._embedder = embedder
        self._audit = Audit()
        self._staging = staging
        self._header = header
        self._name = wanted.name if wanted.name is not None else header.agent.name
        self._renaming = Renaming() if wanted.ids == "new" else Renaming.none()
        self._facts = FactMaking(staging, self._renaming)
        self._rows = Rows(
            self._renaming,
            header.agent.language,
            embedder.model.dimension,
            embedded=embedded,
            passage_chars=passage_chars,
            owed=owed,
        )
        self.totals = _Totals()

    async def begin(self) -> None:
        """Make the agent that nobody sees. Raises ConflictProblem where one of its name holds something."""
        staging = self._staging
        async with self._database.transaction(staging.scope) as connection:
            rows = staging.rows(connection)
            standing = await rows.named(self._name, lock=False)
            if standing is not None and standing[1]:
                raise self._taken()
            # The name that it gets is not kept from others meanwhile.
            hidden = f"import {staging.agent_id}"
            await rows.begin(hidden, self._header.agent, datetime.now(UTC))

    async def write(self, batch: Batch) -> None:
        """Write a batch. What the database refuses is looked for in halves of it, so that the line can be named."""
        made = await self._embedded(batch) if batch.kind in ("memory", "memory_version") else Made.nothing()
        await self._write(batch, made)

    async def _write(self, batch: Batch, made: Made) -> None:
        try:
            await self._attempt(batch, made)
        except asyncpg.IntegrityConstraintViolationError as error:
            constraint = error.constraint_name or ""
            if constraint in _MODEL:
                raise model_replaced() from None
            if await self._wrote_by_halves(batch, made):
                return
            field, message = _CONSTRAINTS.get(constraint, ("", f"breaks the rule {constraint}"))
            raise batch.lines[0].wrong(field, message) from None
        except asyncpg.DataError as error:
            if await self._wrote_by_halves(batch, made):
                return
            raise batch.lines[0].wrong("", f"cannot be stored: {type(error).__name__}") from None

    async def _wrote_by_halves(self, batch: Batch, made: Made) -> bool:
        """False for a single line, which has no halves."""
        if len(batch.lines) == 1:
            return False
        first, second = batch.halves()
        middle = len(first.lines)
        await self._write(first, made.before(middle))
        await self._write(second, made.after(middle))
        return True

    async def _embedded(self, batch: Batch) -> Made:
        texts = await asyncio.to_thread(self._rows.texts, batch)
        wanted = texts.all()
        if not wanted:
            return Made.nothing()
        made = await self._embedder.embed_passages(wanted)
        self.totals.embedded += len(texts.wholes)
        return _assigned(texts, made.vectors, made.chunks)

    async def _attempt(self, batch: Batch, made: Made) -> None:
        match batch.kind:
            case "memory":
                await self._memories(batch, made)
            case "memory_version":
                rows = await asyncio.to_thread(self._rows.memory_versions, batch, made)
                async with self._staging.writing() as tables:
                    present = await tables.versions([row["memory_id"] for row in rows])
                    for numbered, row in zip(batch.lines, rows, strict=True):
                        version = present.get(row["memory_id"])
                        if version is None:
                            raise numbered.wrong("memory_id", "is no memory of this file")
                        if row["version"] >= version:
                            raise numbered.wrong("version", f"must be less than the memory's, {version}")
                    await tables.add("memory_versions", rows)
            case "entity":
                rows, aliases = await asyncio.to_thread(self._rows.entities, batch)
                async with self._staging.writing() as tables:
                    await tables.add("entities", rows)
                    await tables.add("entity_aliases", aliases)
            case "mention":
                rows = await asyncio.to_thread(self._rows.mentions, batch)
                async with self._staging.writing() as tables:
                    await tables.add("mentions", rows)
            case "edge":
                rows = await asyncio.to_thread(self._rows.edges, batch)
                async with self._staging.writing() as tables:
                    await tables.add("edges", rows)
            case "edge_version":
                await self._edge_versions(batch)
            case "fact" | "fact_closure" | "merge":
                if (taken := await self._facts.write(batch)) is not None:
                    raise self._id_taken(*taken)

    async def _edge_versions(self, batch: Batch) -> None:
        rows = await asyncio.to_thread(self._rows.edge_versions, batch)
        async with self._staging.writing() as tables:
            ends = {row[end] for row in rows for end in ("source_id", "target_id")}
            present = await tables.versions(sorted(ends))
            for numbered, row in zip(batch.lines, rows, strict=True):
                for end in ("source_id", "target_id"):
                    if row[end] not in present:
                        raise numbered.wrong(end, "is no memory of this file")
            await tables.add("edge_versions", rows)

    async def _memories(self, batch: Batch, made: Made) -> None:
        rows = await asyncio.to_thread(self._rows.memories, batch, made)
        async with self._staging.writing() as tables:
            await tables.in_turn()
            taken = await tables.taken("memories", [row["id"] for row in rows.rows])
            if taken is not None:
                raise self._id_taken("memory", *taken)
            await tables.add_memories(rows)
        self.totals.memories += len(rows.terms)
        self.totals.terms += sum(rows.postings.lengths)
        self.totals.passages += len(rows.passages)

    async def observe(self) -> None:
        """Let what occurs together follow from the mentions, which are all there."""
        last: UUID | None = None
        while True:
            async with self._staging.writing() as tables:
                ids = await tables.memories_after(last, OBSERVED_AT_ONCE)
                if not ids:
                    return
                await tables.observe(ids)
            last = ids[-1]

    async def end(self, lines: Lines) -> Agent:
        """Show the agent, in the place of one of its name that holds nothing."""
        staging = self._staging
        agent = self._header.agent
        await self._state_relations()
        try:
            async with self._database.administration(staging.scope) as connection:
                rows = staging.rows(connection)
                if not await rows.touch(datetime.now(UTC)):
                    raise given_up()
                await self._check_successors(rows)
                await self._facts.check(rows)
                standing = await rows.named(self._name, lock=True)
                if standing is not None:
                    if standing[1]:
                        raise self._taken()
                    await rows.replace(standing[0])
                await rows.count(self.totals.memories, self.totals.terms, self.totals.passages)
                await rows.owe(datetime.now(UTC))
                shown = await rows.show(self._name, agent.created_at, agent.updated_at)
                if shown is None:
                    raise given_up()
                details = {
                    "name": self._name,
                    **lines.counts.model_dump(),
                    **({"replaced": str(standing[0])} if standing is not None else {}),
                }
                await self._audit.record(
                    connection,
                    staging.scope,
                    Action.agent_import,
                    agent_id=staging.agent_id,
                    targets=[staging.agent_id],
                    details=details,
                )
        except asyncpg.UniqueViolationError:
            raise self._taken() from None
        return Agent.model_validate(shown)

    async def _state_relations(self) -> None:
        """State facts from what memories declare: a file has only that."""
        statements, last = StatementService(), None
        while True:
            async with self._staging.writing() as tables:
                ids = await statements.state_next(
                    tables.connection, self._staging.scope, self._staging.agent_id, after=last, most=STATED_AT_ONCE
                )
            if len(ids) < STATED_AT_ONCE:
                return
            last = ids[-1]

    async def _check_successors(self, rows: ImportRepository) -> None:
        id = await rows.unfollowed()
        if id is not None:
            raise InvalidInputProblem.of(
                "superseded_by", f"the memory {self._renaming.old(id)} is superseded by none of this file"
            )

    def _taken(self) -> ConflictProblem:
        return ConflictProblem(
            f"There is an agent {self._name!r}, and it holds something. Import under another name, or delete it first."
        )

    def _id_taken(self, kind: str, id: UUID, importing: bool) -> Exception:
        if importing:
            return UnavailableProblem(
                "Another import with the same ids is under way, or was cut off less than a minute ago.",
                retry_after=LEASE.total_seconds(),
            )
        return ConflictProblem(
            f"There is a {kind} {self._renaming.old(id)} already. With ids=new all ids are made anew."
        )


def _assigned(texts: Texts, vectors: object, chunks: list[int]) -> Made:
    """Vectors of a call, in the order of ``Texts.all``, to the lines that they are of."""
    found = iter(zip(vectors, chunks, strict=True))  # type: ignore[call-overload]
    wholes, pieces = {}, {}
    for place in texts.wholes:
        wholes[place], pieces[place] = next(found)
    divided = {place: [next(found)[0] for _ in parts] for place, parts in texts.divided.items()}
    return Made(wholes, pieces, divided)
