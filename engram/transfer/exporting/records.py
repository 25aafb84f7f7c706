"""Rows as the lines of an export. Pure, and work for a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from engram.db.moments import aware
from engram.memories.dedup import dedup_hash
from engram.transfer.vectors import as_text

Row = Mapping[str, Any]


def memory(row: Row) -> dict[str, Any]:
    record = {
        "type": "memory",
        "id": row["id"],
        "version": row["version"],
        "updated_at": row["updated_at"],
        **_state(row),
        "stated_at": row.get("stated_at"),
        "twin": _twin(row),
        "owed": row["owed"],
    }
    if "embedding" in row:
        record["passages"] = [as_text(vector) for vector in row["passages"]]
    return record


def memory_at(moment: datetime) -> Callable[[Row], dict[str, Any]]:
    """A memory that held then as one that was never anything else: current, with the window in which it held."""

    def record(row: Row) -> dict[str, Any]:
        begins, ends = _window_at(row, moment)
        # One of its text may be current beside it.
        known = row["status"] == "current" and begins == aware(row["valid_from"])
        plain = {
            **row,
            "status": "current",
            "version": 1,
            "valid_from": begins,
            "valid_until": ends,
            "stated_until": ends,
            "earlier": None,
            "superseded_by": None,
            "deleted_at": None,
            "dedup_hash": row["dedup_hash"] if known else None,
        }
        return memory(plain)

    return record


def memory_version(row: Row) -> dict[str, Any]:
    return {
        "type": "memory_version",
        "memory_id": row["memory_id"],
        "version": row["version"],
        "recorded_from": row["recorded_from"],
        "recorded_until": row["recorded_until"],
        "ended_by": row["ended_by"],
        **_state(row),
    }


def entity(row: Row) -> dict[str, Any]:
    return {"type": "entity", **row}


def mention(row: Row) -> dict[str, Any]:
    return {
        "type": "mention",
        "entity_id": row["entity_id"],
        "memory_id": row["memory_id"],
        "role": "subject" if row["is_subject"] else "mention",
        "recognized": row["recognized"],
    }


def edge(row: Row) -> dict[str, Any]:
    return {"type": "edge", **_edge(row), "updated_at": row["updated_at"]}


def edge_at(moment: datetime) -> Callable[[Row], dict[str, Any]]:
    """An edge that was in force then, with the window in which it was."""

    def record(row: Row) -> dict[str, Any]:
        begins, ends = _window_at(row, moment)
        return edge({**row, "valid_from": begins, "valid_until": ends, "earlier": None})

    return record


def edge_version(row: Row) -> dict[str, Any]:
    return {
        "type": "edge_version",
        **_edge(row),
        "recorded_from": row["recorded_from"],
        "recorded_until": row["recorded_until"],
    }


def _state(row: Row) -> dict[str, Any]:
    state = {
        "status": row["status"],
        "content": row["content"],
        "key": row["key"],
        "user_id": row["user_id"],
        "session_id": row["session_id"],
        "tags": row["tags"],
        "metadata": row["metadata"],
        "source": row["source"],
        "confidence": row["confidence"],
        "valid_from": aware(row["valid_from"]),
        "valid_until": aware(row["valid_until"]),
        "stated_until": aware(row["stated_until"]),
        "earlier": _periods(row["earlier"]),
        "recorded_at": row["recorded_at"],
        "deleted_at": row["deleted_at"],
        "superseded_by": row["superseded_by"],
        "entities": row["declared_entities"],
        "relations": row["declared_relations"],
        "quantities": row["declared_quantities"],
        "sensitivity": row["sensitivity"],
        "withheld": row["withheld"],
        "chunks": row["chunks"],
    }
    if "embedding" in row:
        state["embedding"] = as_text(row["embedding"])
    return state


def _edge(row: Row) -> dict[str, Any]:
    return {
        "source_id": row["source_id"],
        "target_id": row["target_id"],
        "relation_type": row["relation_type"],
        "weight": row["weight"],
        "origin": row["origin"],
        "label": row["label"],
        "reason": row["reason"],
        "valid_from": aware(row["valid_from"]),
        "valid_until": aware(row["valid_until"]),
        "earlier": _periods(row["earlier"]),
        "recorded_at": row["recorded_at"],
        "invalidated_at": row["invalidated_at"],
    }


def _twin(row: Row) -> str | None:
    """By what the memory is known when it is written again: whether its writer dated it is nowhere else."""
    if row["dedup_hash"] is None:
        return None
    scope = {name: row[name] for name in ("user_id", "session_id", "key")}
    if row["dedup_hash"] == dedup_hash(row["content"], **scope):
        return "undated"
    dated = dedup_hash(row["content"], **scope, valid_from=aware(row["valid_from"]))
    return "dated" if row["dedup_hash"] == dated else None


def _window_at(row: Row, moment: datetime) -> tuple[datetime | None, datetime | None]:
    """The period around a moment in which something held: its last, or one of those before."""
    begins, ends = aware(row["valid_from"]), aware(row["valid_until"])
    if (begins is None or begins <= moment) and (ends is None or ends > moment):
        return begins, ends
    for earlier in _bounds(row["earlier"] or ()):
        if (earlier[0] is None or earlier[0] <= moment) and (earlier[1] is None or earlier[1] > moment):
            return earlier
    return begins, ends


def _periods(ranges: Any) -> list[list[datetime | None]] | None:
    return [list(bounds) for bounds in _bounds(ranges)] if ranges else None


def _bounds(ranges: Iterable[Any]) -> list[tuple[datetime | None, datetime | None]]:
    return [(aware(one.lower), aware(one.upper)) for one in ranges]
