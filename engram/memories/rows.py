"""Memories on their way to and from the database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engram.db.parameters import Parameters
from engram.embeddings.base import Vectors
from engram.text.lexemes import pack
from engram.text.terms import MAX_FREQUENCY


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A row to be written; ``embedding`` has the model's dimension, ``passages`` the shape (passages, dimension).

    One that something later follows already is superseded as it comes: ``superseded_by`` names that, and
    ``ends_early`` when it begins.
    """

    id: UUID
    content: str
    key: str | None
    slot_hash: bytes | None
    user_id: str | None
    session_id: str | None
    tags: str
    metadata: str
    declared_entities: str
    source: str | None
    confidence: float
    valid_from: datetime
    valid_until: datetime | None
    dedup_hash: bytes | None
    chunks: int
    embedding: Vectors
    passages: Vectors
    superseded_by: UUID | None = None
    ends_early: datetime | None = None


@dataclass(frozen=True, slots=True)
class IndexedTerms:
    """How often each word's term stands in a memory; and the terms of its fields and phrases, of which none is a word:
    they have no frequency. ``packed`` is both in one, and ``length`` counts the words."""

    words: Counter[str]
    unworded: set[str]
    packed: bytes
    length: int

    @classmethod
    def of(cls, words: Counter[str], unworded: set[str]) -> IndexedTerms:
        packed = pack({term: min(count, MAX_FREQUENCY) for term, count in words.items()}, unworded)
        return cls(words, unworded, packed, words.total())


@dataclass(frozen=True, slots=True)
class Twin:
    """A current memory with the same dedup hash as one to be written."""

    id: UUID
    valid_until: datetime | None


@dataclass(frozen=True, slots=True)
class StoredText:
    id: UUID
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories a list shows."""

    status: str
    user_id: str | None = None
    session_id: str | None = None
    tags: list[str] | None = None

    def sql(self, agent_id: UUID, p: Parameters) -> str:
        clauses = [f"m.agent_id = {p(agent_id, 'uuid')}", f"m.status = {p(self.status, 'text')}"]
        if self.user_id is not None:
            clauses.append(f"m.user_id = {p(self.user_id, 'text')}")
        if self.session_id is not None:
            clauses.append(f"m.session_id = {p(self.session_id, 'text')}")
        if self.tags is not None:
            clauses.append(f"m.tags @> {p(self.tags, 'text[]')}")
        return " AND ".join(clauses)
