"""What can be known of new memories before any transaction: rows, words, declared names. Work for a thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from engram.entities.declaration import Declaration, declare
from engram.entities.proposals import proposed_names
from engram.memories.dedup import dedup_hash
from engram.memories.embedding import Embedded
from engram.memories.rows import IndexedTerms, NewMemory
from engram.memories.schemas import EntityRole, MemoryItem
from engram.text.fields import about_terms, date_terms, speaker
from engram.text.stopwords import stop_words
from engram.text.terms import analyzer_for


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about new memories that can be known before a transaction: rows, words, declared names."""

    rows: list[NewMemory]
    terms: dict[UUID, IndexedTerms]
    declaration: Declaration


def hashes_of(items: Sequence[MemoryItem]) -> list[bytes]:
    """The dedup hash of each item."""
    return [
        dedup_hash(item.content, user_id=item.user_id, session_id=item.session_id, valid_from=item.valid_from)
        for item in items
    ]


def prepare(
    items: Sequence[MemoryItem],
    hashes: Sequence[bytes],
    embedded: Sequence[Embedded],
    language: str,
    now: datetime,
    *,
    propose_names: bool,
) -> Prepared:
    """Rows for ``items``, with the hash and the vectors of each."""
    analyzer = analyzer_for(language)
    common = stop_words(language)
    rows: list[NewMemory] = []
    terms: dict[UUID, IndexedTerms] = {}
    declared: dict[UUID, list[tuple[str, bool]]] = {}
    proposals: dict[UUID, list[str]] = {}
    for item, value, vectors in zip(items, hashes, embedded, strict=True):
        id = uuid7()
        words, phrases = analyzer.document(item.content)
        terms[id] = IndexedTerms.of(
            words, about_terms(analyzer, _about(item)) | date_terms(item.valid_from or now) | phrases
        )
        declared[id] = [(entity.name, entity.role is EntityRole.subject) for entity in item.entities]
        if propose_names:
            proposals[id] = proposed_names(item.content, common)
        rows.append(
            NewMemory(
                id=id,
                content=item.content,
                user_id=item.user_id,
                session_id=item.session_id,
                tags=_json(list(dict.fromkeys(item.tags))),
                metadata=_json(item.metadata),
                declared_entities=_json([entity.model_dump(mode="json") for entity in item.entities]),
                source=item.source,
                confidence=item.confidence,
                valid_from=item.valid_from or now,
                valid_until=item.valid_until,
                dedup_hash=value,
                chunks=vectors.chunks,
                embedding=vectors.whole,
                passages=vectors.passages,
            )
        )
    return Prepared(rows, terms, declare(declared, proposals))


def _about(item: MemoryItem) -> list[str]:
    """What a memory declares itself to be about, and who says it: a turn of a session is about its speaker too."""
    names = [entity.name for entity in item.entities if entity.role is EntityRole.subject]
    says = speaker(item.content) if item.session_id is not None else None
    return [*names, says] if says else names


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
