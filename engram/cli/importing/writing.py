"""Checking a file, and writing its memories in calls that a server takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from engram.cli.importing.entries import Defaults, Flaw, Omission, completed
from engram.cli.importing.formats import Reader
from engram.cli.importing.source import Source
from engram.client import AgentScope, UnprocessableEntityError
from engram.memories.schemas import MAX_BATCH, MemoryItem

# A server takes 32 MiB in one call, and JSON may need six bytes for a character.
_BATCH_CHARS = 4 * 1024 * 1024
_SHOWN_FLAWS = 20
_ITEM = re.compile(r"items\.(\d+)\.?")

Progress = Callable[[int], object]
"""Called with how far the work is: bytes read, or memories written."""


@dataclass(slots=True)
class Checked:
    """What a file holds: ``memories`` to write, ``omitted`` messages without text, and the first of its ``flaws``."""

    memories: int = 0
    omitted: int = 0
    flawed: int = 0
    flaws: list[Flaw] = field(default_factory=list)


@dataclass(slots=True)
class Written:
    """``handled`` memories were sent so far, of which some were there already."""

    handled: int = 0
    created: int = 0
    deduplicated: int = 0
    linked: bool = True


class Refused(Exception):
    """The server refused a memory; the text says which and why."""


def check(source: Source, reader: Reader, defaults: Defaults, progress: Progress) -> Checked:
    """Read a file to its end, keeping nothing of it but what is wrong."""
    checked = Checked()
    for entry in reader(source):
        outcome = entry if isinstance(entry, Flaw | Omission) else completed(entry, defaults)
        match outcome:
            case Flaw():
                checked.flawed += 1
                if len(checked.flaws) < _SHOWN_FLAWS:
                    checked.flaws.append(outcome)
            case Omission():
                checked.omitted += 1
            case MemoryItem():
                checked.memories += 1
        progress(source.stream.tell())
    return checked


def write(
    agent: AgentScope, source: Source, reader: Reader, defaults: Defaults, written: Written, progress: Progress
) -> None:
    """Write a file that was checked, and keep count in ``written``. Raises Refused, and what the SDK raises."""
    for batch in _batches(source, reader, defaults):
        try:
            result = agent.memories.create_many([item for _, item in batch])
        except UnprocessableEntityError as error:
            raise Refused(with_places(error, [place for place, _ in batch])) from error
        written.handled += len(batch)
        written.created += result.created
        written.deduplicated += result.deduplicated
        written.linked &= result.linked
        progress(written.handled)


def _batches(source: Source, reader: Reader, defaults: Defaults) -> Iterator[list[tuple[str, MemoryItem]]]:
    """Memories with their places, at most ``MAX_BATCH`` at once and not much text."""
    batch: list[tuple[str, MemoryItem]] = []
    chars = 0
    for entry in reader(source):
        if isinstance(entry, Omission):
            continue
        item = entry if isinstance(entry, Flaw) else completed(entry, defaults)
        if isinstance(item, Flaw):
            raise Refused(f"the file has changed since it was checked: {item}")
        if batch and (len(batch) == MAX_BATCH or chars + len(item.content) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append((entry.place, item))
        chars += len(item.content)
    if batch:
        yield batch


def with_places(error: UnprocessableEntityError, places: list[str]) -> str:
    def place(match: re.Match[str]) -> str:
        return f"{places[int(match[1])]}: " if int(match[1]) < len(places) else match[0]

    details = [f"{wrong.field}: {wrong.message}" for wrong in error.errors] or [error.detail]
    return "; ".join(_ITEM.sub(place, detail) for detail in details)
