"""Changing a memory in its place: what is named, and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from asyncpg import UniqueViolationError

from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.facts.statements.schemas import Relation
from engram.facts.statements.stating import carried_over
from engram.facts.statements.wording import worded
from engram.memories.changes.edges import ThematicLinks
from engram.memories.changes.reindexing import Indexed, Reindexing, indexed
from engram.memories.changes.repository import ChangeRepository
from engram.memories.changes.rows import Standing, after
from engram.memories.changes.schemas import MemoryUpdate, MemoryUpdated
from engram.memories.changes.writing import Writing
from engram.memories.declared import check_declared
from engram.memories.dedup import dedup_hash
from engram.memories.embedding import Embedded
from engram.memories.schemas import MemoryItem, Sensitivity
from engram.memories.service import ATTEMPTS, CONTESTED, memory_not_found
from engram.problems import ConflictProblem, InvalidInputProblem
from engram.tenants.scope import Scope

SAID_ALREADY = "The same text stands already, as another memory of this user and session."

_FOUND_BY = {
    "content",
    "declared_entities",
    "declared_relations",
    "declared_quantities",
    "sensitivity",
    "withheld",
    "valid_from",
}
"""What decides on a memory's terms and names."""

_BY_ITSELF = {"entities", "relations", "quantities", "sensitivity"}
"""What is said of a memory so, is said of it alone, also where it came in a batch."""


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """The vectors of a text with what is stated beside it."""

    item: MemoryItem
    embedded: Embedded


@dataclass(frozen=True, slots=True)
class _Revision:
    """What becomes of a memory that was read at ``version``."""

    version: int
    changes: dict[str, Any]
    read: _Read | None
    """It is embedded once, however often is tried."""
    found_by: Indexed | None


class RevisionService:
    def __init__(self, writing: Writing, reindexing: Reindexing, links: ThematicLinks) -> None:
        self._writing = writing
        self._reindexing = reindexing
        self._links = links
        self._audit = Audit()

    async def update(self, scope: Scope, memory_id: str, request: MemoryUpdate) -> MemoryUpdated:
        """Change what the request names, and keep what the memory was. A text that changes is embedded and linked anew.

        Raises NotFoundProblem where there is no such memory, ConflictProblem where it is at another version than the
        request says or another memory says the new text already, InvalidInputProblem for a window that cannot be, and
        what the embedder raises.
        """
        id = UUID(memory_id)
        await asyncio.to_thread(check_declared, request)
        read: _Read | None = None
        for _ in range(ATTEMPTS):
            revision = await self._revision(scope, id, request, read)
            read = revision.read
            if not revision.changes:
                return await self._updated(scope, memory_id, request)
            try:
                written = await self._write(scope, id, revision)
            except UniqueViolationError:
                raise ConflictProblem(SAID_ALREADY) from None
            if written is None:
                continue  # changed by someone else since it was read
            if revision.found_by is not None:
                await self._writing.projector.run(scope, written, [id], changed=True)
            return await self._updated(scope, memory_id, request)
        raise ConflictProblem(CONTESTED)

    async def _updated(self, scope: Scope, memory_id: str, request: MemoryUpdate) -> MemoryUpdated:
        memory = await self._writing.memories.get(scope, memory_id)
        warnings = await self._writing.memories.ontology_warnings(scope, UUID(memory.agent_id), request.relations or ())
        return MemoryUpdated(**memory.model_dump(), ontology_warnings=warnings)

    async def _revision(self, scope: Scope, id: UUID, request: MemoryUpdate, read: _Read | None) -> _Revision:
        async with self._writing.database.snapshot(scope) as connection:
            memory = await ChangeRepository(connection, scope).find(id)
            if memory is None or memory.deleted:
                raise memory_not_found(id)
            language = await self._writing.agents.language(connection, scope, memory.agent_id) or ""
        if request.if_version is not None and request.if_version != memory.version:
            raise ConflictProblem(f"Memory {id} is at version {memory.version}, not {request.if_version}.")
        changes = _changes(memory, request)
        _check_window(memory, changes)
        passages = None
        anew = "content" in changes or request.embedding is not None
        relations = _stated(memory, changes)
        if anew or worded(relations) != worded(_stated(memory, {})):
            read = await self._read(memory, request, changes, relations, read)
            passages = read.embedded.passages
            if anew:
                changes |= {"embedding": read.embedded.whole, "chunks": read.embedded.chunks}
        found_by = None
        if passages is not None or changes.keys() & _FOUND_BY:
            found_by = await asyncio.to_thread(
                indexed,
                id,
                changes.get("content", memory.content),
                declared=changes.get("declared_entities", memory.declared_entities),
                relations=changes.get("declared_relations", memory.declared_relations),
                quantities=changes.get("declared_quantities", memory.declared_quantities),
                sensitivity=changes.get("sensitivity", memory.sensitivity),
                withheld=changes.get("withheld", memory.withheld),
                session_id=memory.session_id,
                valid_from=changes.get("valid_from", memory.valid_from),
                language=language,
                passages=passages,
                propose_names=self._writing.propose_names,
            )
        return _Revision(memory.version, changes, read, found_by)

    async def _read(
        self,
        memory: Standing,
        request: MemoryUpdate,
        changes: dict[str, Any],
        relations: list[dict[str, Any]],
        before: _Read | None,
    ) -> _Read:
        item = MemoryItem.model_construct(
            content=changes.get("content", memory.content),
            relations=[Relation.model_construct(**_ends(relation)) for relation in relations],
            embedding=request.embedding,
        )
        if before is not None and before.item == item:
            return before
        return _Read(item, await self._writing.embedded(item))

    async def _write(self, scope: Scope, id: UUID, revision: _Revision) -> UUID | None:
        """The agent of the memory; None where it is not any more what was read."""
        async with self._writing.database.transaction(scope) as connection:
            changes = ChangeRepository(connection, scope)
            found = await changes.find(id)
            if found is None:
                return None
            await self._writing.agents.hold(connection, scope, found.agent_id)
            if revision.found_by is not None or "valid_until" in revision.changes:
                await self._writing.entities.hold_vectors(connection, scope, found.agent_id)
            if "valid_until" in revision.changes and found.slot_hash is not None:
                await changes.hold_slot(found.agent_id, found.slot_hash)
            memory = (await changes.lock(found.agent_id, [id])).get(id)
            if memory is None or memory.deleted or memory.version != revision.version:
                return None
            if "valid_from" in revision.changes and await changes.superseded(memory.agent_id, id):
                raise InvalidInputProblem.of("valid_from", "is when it took the place of another memory, and stays")
            if "valid_until" in revision.changes and memory.slot_hash is not None:
                longer = replace(memory, valid_until=revision.changes["valid_until"])
                if await changes.held_beside(memory.agent_id, longer):
                    raise InvalidInputProblem.of("valid_until", "reaches into the time of another value of the key")
            now = after(datetime.now(UTC), memory)
            await changes.revise(memory.agent_id, id, revision.changes, now=now)
            if revision.found_by is not None:
                if "embedding" in revision.changes or revision.changes.get("sensitivity") == Sensitivity.high:
                    await self._links.forget(connection, scope, memory.agent_id, id, now)
                await self._reindexing.replace(connection, scope, memory.agent_id, id, revision.found_by, standing=True)
                await self._writing.writer.owe(connection, scope, memory.agent_id, [id], now, changed=True)
            elif "valid_until" in revision.changes:
                await self._writing.entities.forget_vectors(connection, scope, memory.agent_id, [id])
            await self._writing.statements.restate(connection, scope, memory.agent_id, [id], at=now)
            await self._writing.entities.recount(connection, scope, memory.agent_id, [id])
            await self._audit.record(
                connection,
                scope,
                Action.memory_update,
                agent_id=memory.agent_id,
                targets=[id],
                details={"fields": [*sorted(revision.changes.keys() & _SHOWN)]},
            )
        return memory.agent_id


_SHOWN = {
    "content",
    "tags",
    "metadata",
    "source",
    "confidence",
    "valid_from",
    "valid_until",
    "declared_entities",
    "declared_relations",
    "declared_quantities",
    "sensitivity",
}


def _stated(memory: Standing, changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Relations by which a memory is found when these columns are changed."""
    if changes.get("withheld", memory.withheld):
        return []
    relations: list[dict[str, Any]] = changes.get("declared_relations", memory.declared_relations)
    return relations


def _ends(relation: dict[str, Any]) -> dict[str, Any]:
    return {part: relation[part] for part in ("subject", "predicate", "object")}


def _changes(memory: Standing, request: MemoryUpdate) -> dict[str, Any]:
    """Columns that would get another value."""
    given = request.model_fields_set
    wanted: dict[str, Any] = {
        field: getattr(request, field)
        for field in ("content", "metadata", "source", "confidence", "valid_from", "valid_until")
        if field in given
    }
    if "tags" in given:
        wanted["tags"] = list(dict.fromkeys(request.tags or ()))
    if "entities" in given:
        wanted["declared_entities"] = [entity.model_dump(mode="json") for entity in request.entities or ()]
    if "relations" in given:
        declared = [relation.model_dump(mode="json") for relation in request.relations or ()]
        wanted["declared_relations"] = carried_over(memory.declared_relations, declared, datetime.now(UTC))
    if "quantities" in given:
        wanted["declared_quantities"] = [quantity.model_dump(mode="json") for quantity in request.quantities or ()]
    if request.sensitivity is not None:
        wanted["sensitivity"] = request.sensitivity.value
    if given & _BY_ITSELF:
        wanted["withheld"] = False
    changes = {column: value for column, value in wanted.items() if value != getattr(memory, column)}
    for field in ("valid_from", "valid_until"):
        if field in changes and memory.superseded_by is not None:
            raise InvalidInputProblem.of(field, f"is settled by {memory.superseded_by}, which superseded the memory")
    if "valid_from" in changes and memory.key is not None:
        raise InvalidInputProblem.of("valid_from", "of a key's value stays; set the key again to begin elsewhere")
    if "valid_until" in changes:
        changes["stated_until"] = changes["valid_until"]
    if memory.dedup_hash is not None and changes.keys() & {"content", "valid_from"}:
        changes["dedup_hash"] = _dedup_hash(memory, changes)
    return changes


def _dedup_hash(memory: Standing, changes: dict[str, Any]) -> bytes:
    """As when it was written: ``valid_from`` counts where a writer gave one."""
    dated = "valid_from" in changes or not memory.undated
    begins = changes.get("valid_from", memory.valid_from) if dated else None
    content = changes.get("content", memory.content)
    return dedup_hash(content, user_id=memory.user_id, session_id=memory.session_id, valid_from=begins)


def _check_window(memory: Standing, changes: dict[str, Any]) -> None:
    begins = changes.get("valid_from", memory.valid_from)
    ends = changes.get("valid_until", memory.valid_until)
    if ends is not None and ends <= begins and changes.keys() & {"valid_from", "valid_until"}:
        field = "valid_until" if "valid_until" in changes else "valid_from"
        raise InvalidInputProblem.of(field, "valid_until must be later than valid_from")
