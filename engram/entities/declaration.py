"""What the writer of a batch of memories declares about entities, in canonical form. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from engram.entities.canonical import canonical_name


@dataclass(frozen=True, slots=True)
class Declaration:
    """Spellings by canonical name, and by memory and name whether the memory is about the entity."""

    spellings: dict[str, set[str]]
    roles: dict[tuple[UUID, str], bool]

    def only(self, memory_ids: set[UUID]) -> Declaration:
        """What these memories declare."""
        roles = {place: role for place, role in self.roles.items() if place[0] in memory_ids}
        names = {name for _, name in roles}
        return Declaration({name: self.spellings[name] for name in names}, roles)


def declare(declared: Mapping[UUID, Sequence[tuple[str, bool]]]) -> Declaration:
    """Canonicalise what memories declare, as ``(name, is_subject)``; names that name nothing are dropped."""
    spellings: dict[str, set[str]] = {}
    roles: dict[tuple[UUID, str], bool] = {}
    for memory_id, names in declared.items():
        for raw, is_subject in names:
            name = canonical_name(raw)
            if name is None:
                continue
            spellings.setdefault(name, set()).add(raw)
            # Declared twice, it is what the stronger role says.
            roles[memory_id, name] = roles.get((memory_id, name), False) or is_subject
    return Declaration(spellings, roles)
