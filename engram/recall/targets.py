"""Entities that a recall is aimed at: those that a request names, or in graph mode the query, and what is near these.

A memory about an entity is led to as strongly as the entity is meant; one that mentions it as a hop over an entity link
is worth. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from engram.recall.naming import Named


@dataclass(frozen=True, slots=True)
class Target:
    """An entity, by the ids of all that are one with it, and how strongly it is meant, in (0, 1]."""

    ids: tuple[UUID, ...]
    display_name: str
    weight: float


def by_entity(targets: Iterable[Target]) -> tuple[list[UUID], list[float], list[str]]:
    """Columns over entities: id, weight, name."""
    rows = [(id, target.weight, target.display_name) for target in targets for id in target.ids]
    return [id for id, _, _ in rows], [weight for _, weight, _ in rows], [name for _, _, name in rows]


def stronger(*ways: Mapping[UUID, Named]) -> dict[UUID, Named]:
    """By memory what leads to it most strongly; of equals what comes first."""
    found: dict[UUID, Named] = {}
    for way in ways:
        for id, named in way.items():
            known = found.get(id)
            if known is None or known.score < named.score:
                found[id] = named
    return found
