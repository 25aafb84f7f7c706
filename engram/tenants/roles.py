"""What a key may do. Pure."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Each may do what the one before it may."""

    viewer = "viewer"
    """Reads: recall, look up, list."""
    writer = "writer"
    """Writes memories, agents and edges, and takes them back."""
    admin = "admin"
    """Does what cannot be undone, and sees who did what."""

    def may(self, needed: Role) -> bool:
        return _ORDER[self] >= _ORDER[needed]


_ORDER = {role: place for place, role in enumerate(Role)}
