"""What a memory states, as words by which it is found beside its text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def worded(relations: Iterable[Mapping[str, Any]]) -> str:
    """A sentence for each relation, as a memory's row holds it; empty where there is none."""
    return " ".join(f"{one['subject']} {one['predicate'].replace('_', ' ')} {one['object']}." for one in relations)
