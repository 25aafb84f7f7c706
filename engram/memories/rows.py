"""Memories on their way to and from the database."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

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
    declared_relations: str = "[]"
    declared_quantities: str = "[]"
    sensitivity: str = "normal"
    withheld: bool = False
    """Nothing that it declares is projected."""
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
    digest: str
    """Of the whole text, to tell later whether it is still this one."""


def as_json(value: Any) -> str:
    """A value as its column of JSON takes it, with its letters as they are."""
    return json.dumps(value, ensure_ascii=False)
