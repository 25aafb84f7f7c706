"""What can be known of new memories before any transaction: rows, words, declared names. Work for a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from engram.entities.declaration import Declaration, declare
from engram.entities.proposals import proposed_names
from engram.memories.dedup import dedup_hash
from engram.memories.embedding import Embedded, is_withheld
from engram.memories.indexing import terms_of
from engram.memories.rows import IndexedTerms, NewMemory, as_json
from engram.memories.schemas import EntityRole, MemoryItem, Sensitivity
from engram.text.stopwords import stop_words


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about new memories that can be known before a transaction: rows, words, declared names."""

    rows: list[NewMemory]
    terms: dict[UUID, IndexedTerms]
    declaration: Declaration


@dataclass(frozen=True, slots=True)
class Slot:
    """A key in its partition of user and session; ``hash`` stands for it within its agent."""

    key: str
    hash: bytes


def hashes_of(items: Sequence[MemoryItem]) -> list[bytes]:
    """The dedup hash of each item."""
    return [
        dedup_hash(item.content, user_id=item.user_id, session_id=item.session_id, valid_from=item.valid_from)
        for item in items
    ]


def prepare(
    items: Sequence[MemoryItem],
    hashes: Sequence[bytes | None],
    embedded: Sequence[Embedded],
    language: str,
    now: datetime,
    *,
    propose_names: bool,
    slot: Slot | None = None,
    in_bulk: bool = False,
) -> Prepared:
    """Rows for ``items``, with the hash and the vectors of each; for the values of ``slot`` where one is given.

    What is sensitive has nothing proposed for it, and ``in_bulk`` declares nothing.
    """
    common = stop_words(language)
    rows: list[NewMemory] = []
    terms: dict[UUID, IndexedTerms] = {}
    declared: dict[UUID, list[tuple[str, bool]]] = {}
    proposals: dict[UUID, list[str]] = {}
    related: dict[UUID, list[str]] = {}
    for item, value, vectors in zip(items, hashes, embedded, strict=True):
        id = uuid7()
        sensitive = item.sensitivity is Sensitivity.high
        withheld = is_withheld(item, in_bulk=in_bulk)
        entities = [entity.model_dump(mode="json") for entity in item.entities]
        relations = [relation.model_dump(mode="json") for relation in item.relations]
        terms[id] = terms_of(
            item.content,
            declared=entities,
            relations=[] if withheld else relations,
            session_id=item.session_id,
            valid_from=item.valid_from or now,
            language=language,
        )
        if not withheld:
            declared[id] = [(entity.name, entity.role is EntityRole.subject) for entity in item.entities]
            related[id] = [name for relation in item.relations for name in (relation.subject, relation.object)]
            related[id] += [quantity.entity for quantity in item.quantities]
        if propose_names and not sensitive:
            proposals[id] = proposed_names(item.content, common)
        rows.append(
            NewMemory(
                id=id,
                content=item.content,
                key=slot.key if slot else None,
                slot_hash=slot.hash if slot else None,
                user_id=item.user_id,
                session_id=item.session_id,
                tags=as_json(list(dict.fromkeys(item.tags))),
                metadata=as_json(item.metadata),
                declared_entities=as_json(entities),
                declared_relations=as_json(relations),
                declared_quantities=as_json([quantity.model_dump(mode="json") for quantity in item.quantities]),
                sensitivity=item.sensitivity.value,
                withheld=withheld,
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
    return Prepared(rows, terms, declare(declared, proposals, related))
