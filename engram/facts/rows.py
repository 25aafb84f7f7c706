"""Facts on their way into the database and out of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from engram.db.moments import aware
from engram.entities.canonical import canonical_name
from engram.facts.keys import node_key, slot_key, word_key
from engram.facts.names import node_name, words_of
from engram.facts.schemas import ClosurePolicy, FactItem, FactStatus, Provenance, StoredFact
from engram.facts.supersession import End, Value


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact that is to be written, with the keys by which it is found."""

    id: UUID
    item: FactItem
    subject_node: UUID
    object_node: UUID
    slot: UUID
    memories: tuple[UUID, ...]
    """Sources that may be memories."""
    subject_name: str | None = None
    """The canonical form, where it has one."""
    object_name: str | None = None


@dataclass(slots=True)
class Prepared:
    """Facts in the order in which they are learnt, and the words of their nodes."""

    facts: list[NewFact] = field(default_factory=list)
    words: set[tuple[UUID, UUID]] = field(default_factory=set)
    """Keys of words and nodes."""
    names: dict[str, set[str]] = field(default_factory=dict)
    """Spellings of entities, by canonical name."""


@dataclass(frozen=True, slots=True)
class Closure:
    """What comes to be believed of a fact."""

    fact_id: UUID
    status: FactStatus
    valid_until: datetime | None
    superseded_by: UUID | None
    policy: ClosurePolicy | None = None
    """Of a statement, which rule it was."""

    @property
    def closed_by(self) -> ClosurePolicy | None:
        by_another = ClosurePolicy.supersession if self.superseded_by is not None else None
        return self.policy or by_another


def prepare(items: Sequence[FactItem], ids: Sequence[UUID] | None = None) -> Prepared:
    """Facts with their keys, under these ids or under new ones. Work for a thread."""
    prepared = Prepared()
    nodes: dict[tuple[str | None, str], UUID] = {}
    for place, item in enumerate(items):
        ends = []
        entities = []
        for text in (item.subject, item.object):
            entity = canonical_name(text)
            entities.append(entity)
            if entity is not None:
                # As a name, in which white space collapses.
                prepared.names.setdefault(entity, set()).add(" ".join(text.split()))
            name = (item.user_id, node_name(text))
            node = nodes.get(name)
            if node is None:
                node = nodes[name] = node_key(*name)
                prepared.words.update((word_key(item.user_id, word), node) for word in words_of(name[1]))
            ends.append(node)
        prepared.facts.append(
            NewFact(
                id=ids[place] if ids is not None else uuid7(),
                item=item,
                subject_node=ends[0],
                object_node=ends[1],
                subject_name=entities[0],
                object_name=entities[1],
                slot=slot_key(item.user_id, item.subject, item.predicate),
                memories=tuple(dict.fromkeys(filter(None, map(as_id, item.sources)))),
            )
        )
    return prepared


def value_of(row: Mapping[str, Any]) -> Value:
    return Value(
        id=str(row["id"]),
        object=row["object"],
        valid_from=aware(row["valid_from"]),
        stated_until=aware(row["stated_until"]),
        recorded_at=row["recorded_at"],
        supersede=row["supersede"],
        status=FactStatus(row["status"]),
    )


def closure(fact_id: str, status: FactStatus, end: End) -> Closure:
    return Closure(UUID(fact_id), status, end.until, UUID(end.superseded_by) if end.superseded_by else None)


def stored(row: Mapping[str, Any]) -> StoredFact:
    """A row of ``known.COLUMNS`` as it is shown."""
    # Ours, and right by construction: to check hundreds of them would hold up the event loop.
    return StoredFact.model_construct(**fields_of(row))


def fields_of(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "id": str(row["id"]),
        "agent_id": str(row["agent_id"]),
        "superseded_by": str(row["superseded_by"]) if row["superseded_by"] is not None else None,
        "memory_id": str(row["memory_id"]) if row["memory_id"] is not None else None,
        "provenance": Provenance(row["provenance"]) if row["provenance"] is not None else None,
        "closed_by": ClosurePolicy(row["closed_by"]) if row["closed_by"] is not None else None,
        "status": FactStatus(row["status"]),
        "valid_from": aware(row["valid_from"]),
        "valid_until": aware(row["valid_until"]),
        "stated_until": aware(row["stated_until"]),
    }


def as_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
