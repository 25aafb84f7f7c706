"""Reading a file as the import reads it."""

from __future__ import annotations

import io

from engram.cli.importing.entries import Defaults, Draft, Flaw, Omission, completed
from engram.cli.importing.formats import Format, reader_for
from engram.cli.importing.source import Source
from engram.memories.schemas import MemoryItem

NONE = Defaults()


def outcomes(
    data: str | bytes, suffix: str = ".txt", format: Format = Format.auto, defaults: Defaults = NONE
) -> list[MemoryItem | Flaw | Omission]:
    """What becomes of each entry of a file ``chat`` with this suffix."""
    raw = data.encode() if isinstance(data, str) else data
    source = Source(io.BytesIO(raw), "chat", suffix)
    entries = reader_for(source, format)(source)
    return [completed(entry, defaults) if isinstance(entry, Draft) else entry for entry in entries]


def memories(
    data: str | bytes, suffix: str = ".txt", format: Format = Format.auto, defaults: Defaults = NONE
) -> list[MemoryItem]:
    """The memories of a file in which nothing is wrong."""
    found = outcomes(data, suffix, format, defaults)
    assert not [entry for entry in found if isinstance(entry, Flaw)]
    return [entry for entry in found if isinstance(entry, MemoryItem)]


def flaws(data: str | bytes, suffix: str = ".txt", format: Format = Format.auto) -> list[str]:
    return [str(entry) for entry in outcomes(data, suffix, format) if isinstance(entry, Flaw)]
