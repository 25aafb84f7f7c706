"""What an extractor found in the memories of a set, and how much of it is written with them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter, ValidationError

from engram.entities.canonical import canonical_name
from engram.evaluation.records import ExtractionRecord
from engram.facts.schemas import Predicate
from engram.facts.statements.schemas import MAX_RELATIONS
from engram.memories.schemas import MAX_ENTITIES
from engram.wire import Name

_NAME: TypeAdapter[str] = TypeAdapter(Name)
_PREDICATE: TypeAdapter[str] = TypeAdapter(Predicate)


class Extraction(StrEnum):
    """Which part is written with a memory, as its writer would declare it."""

    none = "none"
    entities = "entities"
    relations = "relations"
    all = "all"


def extracted(record: ExtractionRecord | None, part: Extraction, *, declared: int = 0) -> dict[str, list[Any]]:
    """``entities`` and ``relations`` to be written with a memory that declares so many entities by itself.

    What a server would refuse is left out: names and predicates that are too long, hold what no text may or name
    nothing, and what is beyond the most that a memory may declare; the first are kept.
    """
    entities: list[Any] = []
    relations: list[Any] = []
    if record is not None and part in (Extraction.entities, Extraction.all):
        entities = [name for name in dict.fromkeys(record.entities) if _is_name(name)]
    if record is not None and part in (Extraction.relations, Extraction.all):
        relations = list(_relations(record))
    return {"entities": entities[: MAX_ENTITIES - declared], "relations": relations[:MAX_RELATIONS]}


def _relations(record: ExtractionRecord) -> Iterator[dict[str, str]]:
    for triple in dict.fromkeys(map(tuple, record.triples)):
        if len(triple) != 3:
            continue
        subject, predicate, object = triple
        # A predicate without a letter or digit says nothing by which a memory is found.
        if (
            _is_name(subject)
            and _is_name(object)
            and _accepted(_PREDICATE, predicate)
            and any(map(str.isalnum, predicate))
        ):
            yield {"subject": subject, "predicate": predicate, "object": object}


def _is_name(text: str) -> bool:
    return _accepted(_NAME, text) and canonical_name(text) is not None


def _accepted(kind: TypeAdapter[str], text: str) -> bool:
    try:
        kind.validate_python(text)
    except ValidationError:
        return False
    return True
