"""Rows of facts as the lines of an export. Pure, and work for a thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.db.moments import aware

Row = Mapping[str, Any]


def fact(row: Row) -> dict[str, Any]:
    return {
        "type": "fact",
        **row,
        "valid_from": aware(row["valid_from"]),
        "valid_until": aware(row["valid_until"]),
        "stated_until": aware(row["stated_until"]),
    }


def fact_at(row: Row) -> dict[str, Any]:
    """A fact that held at the moment of the export as one of which nothing else was ever believed."""
    plain = {"stated_until": row["valid_until"], "closed_by": None, "superseded_by": None}
    return fact({**row, **plain, "updated_at": row["recorded_at"]})


def closure(row: Row) -> dict[str, Any]:
    return {"type": "fact_closure", **row, "valid_until": aware(row["valid_until"])}


def merge(row: Row) -> dict[str, Any]:
    return {"type": "merge", **row}


def merge_at(row: Row) -> dict[str, Any]:
    """A merge that was believed at the moment of the export."""
    return merge({**row, "undone_at": None})
