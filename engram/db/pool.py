"""How busy a pool of connections is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """``limit`` connections at most, of which so many are open: ``in_use`` and ``idle``. ``waiting`` is who asked for
    one and has none yet, ``timeouts`` who asked in vain since the pool was opened."""

    limit: int
    in_use: int
    idle: int
    waiting: int
    timeouts: int
