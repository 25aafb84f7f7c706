"""Lines as rows to be written, with all that follows from them: ids, terms, hashes, vectors. Work for a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from engram.embeddings.base import Vectors
from engram.entities.recognition import opening
from engram.memories.dedup import dedup_hash, slot_hash
from engram.memories.indexing import terms_of
from engram.memories.passages import MAX_PASSAGES, passages
from engram.memories.postings import Postings
from engram.memories.rows import IndexedTerms, as_json
from engram.transfer.importing.reading import Batch, Numbered
from engram.transfer.renaming import Renaming
from engram.transfer.schemas import DeclaredRelation
from engram.transfer.vectors import from_text

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Texts:
    """What of a batch is to be embedded: texts, and of each memory's text its passages."""

    wholes: dict[int, str]
    """By the place of the line in its batch."""
    divided: dict[int, list[str]]

    def all(self) -> list[str]:
        return [*self.wholes.values(), *(part for parts in self.divided.values() for part in parts)]


@dataclass(frozen=True, slots=True)
class Made:
    """Vectors that were made for a batch's texts, by the place of the line."""

    wholes: Mapping[int, Vectors]
    chunks: Mapping[int, int]
    passages: Mapping[int, Sequence[Vectors]]

    @classmethod
    def nothing(cls) -> Made:
        return cls({}, {}, {})

    def before(self, place: int) -> Made:
        """Of the lines before this one."""
        return self._of(lambda at: at < place, 0)

    def after(self, place: int) -> Made:
        """Of this line and those after it, of which it is the first."""
        return self._of(lambda at: at >= place, place)

    def _of(self, wanted: Callable[[int], bool], first: int) -> Made:
        return Made(
            {at - first: vector for at, vector in self.wholes.items() if wanted(at)},
            {at - first: count for at, count in self.chunks.items() if wanted(at)},
            {at - first: vectors for at, vectors in self.passages.items() if wanted(at)},
        )


@dataclass(frozen=True, slots=True)
class MemoryRows:
    rows: list[Row]
    terms: dict[UUID, IndexedTerms]
    postings: Postings
    passages: list[tuple[UUID, int, Vectors]]
    owed: list[tuple[UUID, str, int]]


class Rows:
    """Makes the rows of one import."""

    def __init__(
        self,
        renaming: Renaming,
        language: str,
        dimension: int,
        *,
        embedded: bool,
        passage_chars: int,
        owed: Sequence[str],
    ) -> None:
        """``embedded``: the vectors of the lines are used; otherwise all are made anew. ``owed`` are the projections
        whose work no file has."""
        self._id = renaming
        self._language = language
        self._dimension = dimension
        self._embedded = embedded
        self._passage_chars = passage_chars
        self._owed = owed

    def texts(self, batch: Batch) -> Texts:
        """What has to be embedded before the batch's rows can be made."""
        wholes: dict[int, str] = {}
        divided: dict[int, list[str]] = {}
        for place, numbered in enumerate(batch.lines):
            line = numbered.line
            if self._embedded and line.embedding is not None:
                continue
            wholes[place] = line.content
            # A tombstone keeps what a restoration needs.
            if batch.kind == "memory":
                divided[place] = passages(line.content, self._passage_chars, _stated(line))
        return Texts(wholes, divided)

    def memories(self, batch: Batch, made: Made) -> MemoryRows:
        rows: list[Row] = []
        terms: dict[UUID, IndexedTerms] = {}
        divided: list[tuple[UUID, int, Vectors]] = []
        owed: list[tuple[UUID, str, int]] = []
        for place, numbered in enumerate(batch.lines):
            line = numbered.line
            id = self._id(line.id)
            state, indexed = self._state(numbered, place, made)
            dated = line.valid_from if line.twin == "dated" else None
            rows.append(
                {
                    "id": id,
                    **state,
                    "version": line.version,
                    "updated_at": line.updated_at,
                    "stated_at": line.stated_at,
                    "dedup_hash": dedup_hash(
                        line.content, user_id=line.user_id, session_id=line.session_id, key=line.key, valid_from=dated
                    )
                    if line.twin is not None
                    else None,
                }
            )
            owed += [(id, projection, line.version) for projection in sorted(set(line.owed))]
            if indexed is not None:
                terms[id] = indexed
                owed += [(id, projection, line.version) for projection in self._owed]
            divided += [(id, at, vector) for at, vector in enumerate(self._passages(numbered, place, made))]
        return MemoryRows(rows, terms, Postings(terms), divided, owed)

    def memory_versions(self, batch: Batch, made: Made) -> list[Row]:
        rows = []
        for place, numbered in enumerate(batch.lines):
            line = numbered.line
            state, indexed = self._state(numbered, place, made)
            rows.append(
                {
                    "memory_id": self._id(line.memory_id),
                    "version": line.version,
                    "recorded_from": line.recorded_from,
                    "recorded_until": line.recorded_until,
                    "ended_by": line.ended_by,
                    **state,
                    "asks": any(mark in line.content for mark in "?？؟"),
                    "length": indexed.length if indexed is not None else 0,
                    "lexemes": indexed.packed if indexed is not None else b"",
                }
            )
        return rows

    def entities(self, batch: Batch) -> tuple[list[Row], list[Row]]:
        """Rows of entities, and of their aliases."""
        rows, aliases = [], []
        for numbered in batch.lines:
            line = numbered.line
            id = self._id(line.id)
            rows.append(
                {
                    "id": id,
                    "name": line.name,
                    "display_name": line.display_name,
                    "opening": opening(line.name),
                    "swept_at": line.swept_at,
                    "created_at": line.created_at,
                }
            )
            aliases += [{"entity_id": id, "alias": alias} for alias in sorted(set(line.aliases))]
        return rows, aliases

    def mentions(self, batch: Batch) -> list[Row]:
        return [
            {
                "entity_id": self._id(line.entity_id),
                "memory_id": self._id(line.memory_id),
                "is_subject": line.role == "subject",
                "recognized": line.recognized,
            }
            for line in (numbered.line for numbered in batch.lines)
        ]

    def edges(self, batch: Batch) -> list[Row]:
        return [
            {**self._edge(line), "updated_at": line.updated_at} for line in (numbered.line for numbered in batch.lines)
        ]

    def edge_versions(self, batch: Batch) -> list[Row]:
        return [
            {**self._edge(line), "recorded_from": line.recorded_from, "recorded_until": line.recorded_until}
            for line in (numbered.line for numbered in batch.lines)
        ]

    def _state(self, numbered: Numbered, place: int, made: Made) -> tuple[Row, IndexedTerms | None]:
        """The columns that a memory and its versions have in common, and the terms of one that is not deleted."""
        line = numbered.line
        declared = [entity.model_dump() for entity in line.entities]
        indexed = None
        if line.status != "deleted":
            indexed = terms_of(
                line.content,
                declared=declared,
                relations=_stated(line),
                session_id=line.session_id,
                valid_from=line.valid_from,
                language=self._language,
            )
        state = {
            "status": line.status,
            "content": line.content,
            "key": line.key,
            "slot_hash": slot_hash(line.key, user_id=line.user_id, session_id=line.session_id)
            if line.key is not None
            else None,
            "user_id": line.user_id,
            "session_id": line.session_id,
            "tags": as_json(line.tags),
            "metadata": as_json(line.metadata),
            "declared_entities": as_json(declared),
            "declared_relations": as_json([_relation(relation) for relation in line.relations]),
            "declared_quantities": as_json([quantity.model_dump(mode="json") for quantity in line.quantities]),
            "sensitivity": line.sensitivity,
            "withheld": line.withheld,
            "source": line.source,
            "confidence": line.confidence,
            "valid_from": line.valid_from,
            "valid_until": line.valid_until,
            "stated_until": line.stated_until,
            "earlier": _multirange(line.earlier),
            "recorded_at": line.recorded_at,
            "deleted_at": line.deleted_at,
            "superseded_by": self._id(line.superseded_by) if line.superseded_by is not None else None,
            "chunks": made.chunks.get(place, line.chunks),
            "embedding": made.wholes[place] if place in made.wholes else self._vector(numbered),
        }
        return state, indexed

    def _vector(self, numbered: Numbered) -> Vectors:
        try:
            return from_text(numbered.line.embedding, self._dimension)
        except ValueError as error:
            raise numbered.wrong("embedding", str(error)) from None

    def _passages(self, numbered: Numbered, place: int, made: Made) -> Sequence[Vectors]:
        if place in made.wholes:
            return made.passages.get(place, ())
        texts = numbered.line.passages or []
        if len(texts) > MAX_PASSAGES:
            raise numbered.wrong("passages", f"must not be more than {MAX_PASSAGES}")
        vectors = []
        for at, text in enumerate(texts):
            try:
                vectors.append(from_text(text, self._dimension))
            except ValueError as error:
                raise numbered.wrong(f"passages.{at}", str(error)) from None
        return vectors

    def _edge(self, line: Any) -> Row:
        return {
            "source_id": self._id(line.source_id),
            "target_id": self._id(line.target_id),
            "relation_type": line.relation_type,
            "weight": line.weight,
            "origin": line.origin,
            "label": line.label,
            "reason": line.reason,
            "valid_from": line.valid_from,
            "valid_until": line.valid_until,
            "earlier": _multirange(line.earlier),
            "recorded_at": line.recorded_at,
            "invalidated_at": line.invalidated_at,
        }


def _multirange(periods: Sequence[Sequence[datetime | None]] | None) -> str | None:
    """As Postgres reads it."""
    if periods is None:
        return None
    ranges = (f"[{_bound(begins)},{_bound(ends)})" for begins, ends in periods)
    return f"{{{','.join(ranges)}}}"


def _bound(moment: datetime | None) -> str:
    return f'"{moment.isoformat()}"' if moment is not None else ""


def _stated(line: Any) -> list[dict[str, Any]]:
    """Relations by which a memory is found."""
    return [] if line.withheld else [_relation(relation) for relation in line.relations]


def _relation(relation: DeclaredRelation) -> dict[str, Any]:
    """Without the moment where there is none, as it is written."""
    given = relation.model_dump(mode="json")
    return {part: value for part, value in given.items() if part != "stated_at" or value is not None}
