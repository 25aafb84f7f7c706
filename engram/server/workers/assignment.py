"""What a process is started for."""

from __future__ import annotations

from dataclasses import dataclass

from engram.settings import Settings

REFUSED = 3
"""Exit status of a worker that could not start, and has told the supervisor why."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """To be worker ``number``, on sockets that listen, which it has as these file descriptors."""

    number: int
    settings: Settings
    listeners: tuple[int, ...]
