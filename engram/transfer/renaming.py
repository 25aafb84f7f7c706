"""New ids for what is imported beside itself, by arithmetic: a table of millions of ids would have to be held. Pure.

A UUID of version 7 has 122 bits of its own, the time first. All ids of an import move on by one number that is drawn
for it, of 62 bits: in time by a millisecond at most. So they keep their order, which decides between equals, and each
stays the new id of one old id alone.
"""

from __future__ import annotations

import secrets
from uuid import UUID

_OWN_BITS = 122
_SHIFT_BITS = 62

_VERSION = 0xF << 76
_VARIANT = 0b11 << 62
_LOW = (1 << 62) - 1
_MIDDLE = (1 << 12) - 1


class Renaming:
    """New ids for old ones: the same for the same, and others for others."""

    def __init__(self, shift: int | None = None) -> None:
        """``shift`` is drawn by chance unless given; 0 keeps all ids."""
        # With its highest bit set: a small shift could meet the next id.
        self._shift = secrets.randbits(_SHIFT_BITS) | 1 << (_SHIFT_BITS - 1) if shift is None else shift

    @classmethod
    def none(cls) -> Renaming:
        return cls(0)

    def __call__(self, old: str) -> UUID:
        return self._moved(UUID(old), self._shift)

    def old(self, new: UUID) -> UUID:
        return self._moved(new, -self._shift)

    def _moved(self, id: UUID, by: int) -> UUID:
        if not by:
            return id
        value = id.int
        own = (value >> 80) << 74 | (value >> 64 & _MIDDLE) << 62 | value & _LOW
        own = (own + by) % (1 << _OWN_BITS)
        fixed = value & (_VERSION | _VARIANT)
        return UUID(int=own >> 74 << 80 | (own >> 62 & _MIDDLE) << 64 | own & _LOW | fixed)
