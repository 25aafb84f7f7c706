"""What a process is started for."""

from __future__ import annotations

from dataclasses import dataclass

from engram.settings import Settings

REFUSED = 3
"""Exit status of a worker that could not start, and has told the supervisor why."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """To be worker ``number``, with these settings."""

    number: int
    settings: Settings
