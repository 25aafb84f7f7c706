"""Lines of facts as rows to be written, with the keys by which they are found. Work for a thread."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engram.facts.rows import as_id, prepare
from engram.facts.schemas import FactItem
from engram.memories.rows import as_json
from engram.transfer.importing.reading import Batch
from engram.transfer.renaming import Renaming

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FactRows:
    rows: list[Row]
    words: set[tuple[UUID, UUID]]
    """Keys of words and nodes."""
    names: dict[str, set[str]]
    """Spellings of the entities at their ends, by canonical name; the rows have the names of theirs."""
    named: set[UUID]
    """What their sources name that may be memories of the file, by the ids that those have here."""


class FactLines:
    """Makes the rows of one import."""

    def __init__(self, renaming: Renaming) -> None:
        self._id = renaming

    def facts(self, batch: Batch) -> FactRows:
        lines = [numbered.line for numbered in batch.lines]
        ids = [self._id(line.id) for line in lines]
        items = [
            FactItem.model_construct(
                user_id=line.user_id,
                subject=line.subject,
                predicate=line.predicate,
                object=line.object,
                sources=line.sources,
            )
            for line in lines
        ]
        prepared = prepare(items, ids)
        rows = [
            {
                "id": fact.id,
                "subject_node": fact.subject_node,
                "object_node": fact.object_node,
                "subject_entity": fact.subject_name,
                "object_entity": fact.object_name,
                "slot": fact.slot,
                "user_id": line.user_id,
                "subject": line.subject,
                "predicate": line.predicate,
                "object": line.object,
                "confidence": line.confidence,
                "valid_from": line.valid_from,
                "stated_until": line.stated_until,
                "supersede": line.supersede,
                "sources": line.sources,
                **self._belief(line),
                "updated_at": line.updated_at,
            }
            for fact, line in zip(prepared.facts, lines, strict=True)
        ]
        named = {self._id(str(id)) for fact in prepared.facts for id in fact.memories}
        return FactRows(rows, prepared.words, prepared.names, named)

    def tied(self, rows: Collection[Row], memories: Collection[UUID]) -> tuple[list[Row], list[Row]]:
        """Rows whose sources name these memories by the ids that they have here, and the rows that tie them."""
        facts, ties = [], {}
        for row in rows:
            sources = []
            for text in row["sources"]:
                old = as_id(text)
                new = self._id(str(old)) if old is not None else None
                if new in memories:
                    ties[(new, row["id"])] = {"memory_id": new, "fact_id": row["id"]}
                    sources.append(text if new == old else str(new))
                else:
                    sources.append(text)
            facts.append({**row, "sources": as_json(sources)})
        return facts, [ties[key] for key in sorted(ties)]

    def closures(self, batch: Batch) -> list[Row]:
        return [
            {"fact_id": self._id(line.fact_id), **self._belief(line)}
            for line in (numbered.line for numbered in batch.lines)
        ]

    def merges(self, batch: Batch) -> list[Row]:
        return [
            {
                "id": self._id(line.id),
                "name": line.name,
                "other": line.other,
                "recorded_at": line.recorded_at,
                "undone_at": line.undone_at,
            }
            for line in (numbered.line for numbered in batch.lines)
        ]

    def _belief(self, line: Any) -> Row:
        return {
            "status": line.status,
            "valid_until": line.valid_until,
            "closed_by": line.closed_by,
            "superseded_by": self._id(line.superseded_by) if line.superseded_by is not None else None,
            "recorded_at": line.recorded_at,
        }
