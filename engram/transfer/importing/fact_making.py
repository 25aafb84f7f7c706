"""Facts, what was believed of them, and merges, on their way into an agent: each line in its place among the others."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from engram.db.moments import aware
from engram.entities.service import EntityService
from engram.facts.schemas import MAX_MERGES
from engram.problems import InvalidInputProblem
from engram.transfer.importing.fact_rows import FactLines
from engram.transfer.importing.reading import Batch, Numbered
from engram.transfer.importing.repository import ImportRepository
from engram.transfer.importing.staging import Staging
from engram.transfer.renaming import Renaming


class FactMaking:
    def __init__(self, staging: Staging, renaming: Renaming) -> None:
        self._staging = staging
        self._renaming = renaming
        self._lines = FactLines(renaming)

    async def write(self, batch: Batch) -> tuple[str, UUID, bool] | None:
        """Write a batch. Where an id is taken nothing is written: of what, the id, and whether by an import."""
        match batch.kind:
            case "fact":
                return await self._facts(batch)
            case "fact_closure":
                await self._closures(batch)
            case "merge":
                return await self._merges(batch)
        return None

    async def check(self, rows: ImportRepository) -> None:
        """When all is there. Raises InvalidInputProblem for a fact that is superseded by none that ends it."""
        id = await rows.unfollowed_fact()
        if id is not None:
            raise InvalidInputProblem.of(
                "superseded_by", f"the fact {self._renaming.old(id)} is superseded by none of this file where it ends"
            )

    async def _facts(self, batch: Batch) -> tuple[str, UUID, bool] | None:
        made = await asyncio.to_thread(self._lines.facts, batch)
        async with self._staging.writing() as tables:
            await tables.in_turn()
            taken = await tables.taken("facts", [row["id"] for row in made.rows])
            if taken is not None:
                return ("fact", *taken)
            memories = await tables.versions(sorted(made.named))
            scope, agent_id = self._staging.scope, self._staging.agent_id
            entities = await EntityService().named(tables.connection, scope, agent_id, made.names)
            for row in made.rows:
                row |= {end: entities.get(row[end]) for end in ("subject_entity", "object_entity")}
            facts, ties = self._lines.tied(made.rows, memories)
            await tables.add("facts", facts)
            await tables.add_fact_words(made.words)
            await tables.add("fact_memories", ties)
        return None

    async def _closures(self, batch: Batch) -> None:
        rows = await asyncio.to_thread(self._lines.closures, batch)
        async with self._staging.writing() as tables:
            facts = await tables.facts(sorted({row["fact_id"] for row in rows}))
            for numbered, row in zip(batch.lines, rows, strict=True):
                _check(numbered, row, facts.get(row["fact_id"]))
            await tables.add("fact_closures", rows)

    async def _merges(self, batch: Batch) -> tuple[str, UUID, bool] | None:
        rows = self._lines.merges(batch)
        async with self._staging.writing() as tables:
            await tables.in_turn()
            taken = await tables.taken("fact_merges", [row["id"] for row in rows])
            if taken is not None:
                return ("merge", *taken)
            await tables.add("fact_merges", rows)
            if await tables.merges() > MAX_MERGES:
                raise batch.lines[-1].wrong("", f"comes after {MAX_MERGES} merges, and an agent may have no more")
        return None


def _check(numbered: Numbered, row: dict[str, Any], fact: dict[str, Any] | None) -> None:
    """Raises InvalidInputProblem for what cannot have come to be believed of a fact."""
    if fact is None:
        raise numbered.wrong("fact_id", "is no fact of this file")
    if not fact["recorded_at"] <= row["recorded_at"] <= fact["updated_at"]:
        raise numbered.wrong("recorded_at", "must lie between the fact's recorded_at and its updated_at")
    ends = row["valid_until"]
    if ends is not None and ends < aware(fact["valid_from"]):
        raise numbered.wrong("valid_until", "must not be earlier than the fact's valid_from")
    if row["superseded_by"] is None and ends != aware(fact["stated_until"]):
        raise numbered.wrong("valid_until", "must be the fact's stated_until where superseded_by is null")
    if row["superseded_by"] == row["fact_id"]:
        raise numbered.wrong("superseded_by", "must be another fact")
    believed = (fact["status"], aware(fact["valid_until"]), fact["superseded_by"])
    if row["recorded_at"] == fact["updated_at"] and (row["status"], ends, row["superseded_by"]) != believed:
        raise numbered.wrong("", "is the last that came to be believed of the fact, and not what its line says")
