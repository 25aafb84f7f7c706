"""What the server makes of a text, by the kind of its place."""

from __future__ import annotations

from typing import Annotated, Any

import httpx
from pydantic import AfterValidator, StringConstraints, TypeAdapter, ValidationError

from engram.entities.canonical import canonical_name
from engram.facts.quantities.schemas import UnitName
from engram.facts.quantities.units import check_unit
from engram.facts.schemas import Predicate, Term
from engram.wire import Content, Label, Name, Note, Query, Storable
from tests.contract.asking import as_header
from tests.contract.places import KEY, Place

RepeatKey = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[\x21-\x7E]+$")]
"""What an ``Idempotency-Key`` may be."""

KINDS = {
    (shown["pattern"], shown.get("maxLength")): adapter
    for adapter in map(TypeAdapter, (Content, Label, Name, Note, Query, Storable, Term, RepeatKey))
    for shown in [adapter.json_schema()]
}
"""What judges a text, by what the document says of its place."""

_PREDICATE: TypeAdapter[Any] = TypeAdapter(Predicate)


def _naming(text: str) -> str:
    if canonical_name(text) is None:
        raise ValueError("names no entity")
    return text


def _measuring(text: str) -> str:
    check_unit(text)
    return text


_OF_NUMBERS: dict[str, TypeAdapter[Any]] = {
    "entity": TypeAdapter(Annotated[Name, AfterValidator(_naming)]),
    "attribute": TypeAdapter(Predicate),
    "unit": TypeAdapter(Annotated[UnitName, AfterValidator(_measuring)]),
}
"""What judges the texts of a number."""


def judge(place: Place) -> TypeAdapter[Any] | None:
    """None for what is no free text, such as an id or a cursor."""
    of_number = place.operation == "compute_number" and place.way[-1] in ("attribute", "unit")
    if "quantities" in place.way or of_number:
        return _OF_NUMBERS.get(str(place.way[-1]))
    if place.operation == "register_ontology" and place.way[-1] is KEY:
        return None  # with a value that is one of two words
    if "relations" in place.way and place.way[-1] in ("subject", "object"):
        return _OF_NUMBERS["entity"]
    if place.way[-1] == "predicate":
        return _PREDICATE  # shown as a label is
    pattern, length = place.says("pattern"), place.says("maxLength")
    return KINDS.get((pattern, length))


def taken_as(place: Place, text: str) -> str | None:
    """What the server makes of a text in this place; None where it refuses it."""
    # JSON in a text: one of the samples is an object.
    if place.inside == "query" and place.way == ("metadata",):
        return text if text.strip(" \t\r\n") == "{}" else None
    # One that is empty stands for a list of none.
    if place.inside == "query" and place.way[0] in ("tag_any", "tag_none", "tag_exact") and not text:
        return text
    adapter = judge(place)
    if adapter is None:
        return None
    if place.inside == "query" and has_surrogate(text):
        return None
    if place.inside == "header":
        text = as_header(text).decode("latin-1")
    try:
        taken: str = adapter.validate_python(text)
    except ValidationError:
        return None
    # The whole of the operators that a condition may have.
    if place.operation in ("recall", "delete_memories") and place.way == ("metadata", "k", KEY):
        return None
    return taken


def taken_again(place: Place, text: str, request: httpx.Request, spent: dict[str, object]) -> str | None:
    """As ``taken_as``, of a request that was sent after others: ``spent`` has those that stand under a key of repeats.

    Under the same key another request is refused, and the same one is not.
    """
    taken = taken_as(place, text)
    if place.inside != "header" or taken is None:
        return taken
    sent = (request.method, request.url, request.content)
    return taken if spent.setdefault(taken, sent) == sent else None


def has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
