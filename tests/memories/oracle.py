"""What filters mean, in plain Python, to be held against the server's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

_MISSING = object()


@dataclass(frozen=True)
class Note:
    """A memory as it was written."""

    name: str
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def has_tags(note: Note, any: Any = None, all: Any = None, none: Any = None, exact: Any = None) -> bool:
    held = set(note.tags)
    return (
        (any is None or bool(held & set(any)))
        and (all is None or set(all) <= held)
        and (none is None or not held & set(none))
        and (exact is None or held == set(exact))
    )


def meets(note: Note, metadata: Mapping[str, Any]) -> bool:
    return all(
        _holds(_looked_up(note.metadata, name), operator, operand)
        for name, wanted in metadata.items()
        for operator, operand in (wanted if isinstance(wanted, dict) else {"eq": wanted}).items()
    )


def _looked_up(metadata: Any, name: str) -> Any:
    """The key that is spelt so, or else what the dotted path leads to."""
    if name in metadata:
        return metadata[name]
    for step in name.split("."):
        if not isinstance(metadata, dict) or step not in metadata:
            return _MISSING
        metadata = metadata[step]
    return metadata


def _holds(value: Any, operator: str, operand: Any) -> bool:
    if operator == "exists":
        return (value is not _MISSING) is operand
    if operator == "ne":
        return value is _MISSING or _plain(value) != _plain(operand)
    if value is _MISSING:
        return False
    if operator == "eq":
        return _plain(value) == _plain(operand)
    if operator == "in":
        return any(_plain(value) == _plain(choice) for choice in operand)
    if operator == "contains":
        if isinstance(value, list):
            return any(_plain(item) == _plain(operand) for item in value)
        return isinstance(value, str) and isinstance(operand, str) and operand in value
    (kind, one), (other_kind, other) = _plain(value), _plain(operand)
    if kind != other_kind:
        return False
    return {"gt": one > other, "gte": one >= other, "lt": one < other, "lte": one <= other}[operator]


def _plain(value: Any) -> Any:
    """With its kind beside it: Python takes true for 1. Numbers are what is written, whatever their type."""
    if isinstance(value, bool) or value is None:
        return ("true" if value else "false") if value is not None else "null", ()
    if isinstance(value, int | float):
        return "number", Decimal(repr(value))
    if isinstance(value, str):
        # Code points, as Python compares texts too.
        return "text", value
    if isinstance(value, list):
        return "list", tuple(_plain(item) for item in value)
    return "object", frozenset((name, _plain(item)) for name, item in value.items())
