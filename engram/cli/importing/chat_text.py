"""Transcripts in plain text: ``Name: text``, with a timestamp before it or without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engram.cli.importing.entries import Draft, Entry, Flaw
from engram.cli.importing.fields import spoken
from engram.cli.importing.lines import numbered_lines
from engram.cli.importing.source import Source
from engram.wire import MAX_CONTENT_CHARS

_ISO = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_STAMPED = re.compile(
    rf"\s*(?:[\[(](?P<bracketed>\d{{1,4}}[-/.:]\d[^\])]{{0,50}})[\])]|(?P<bare>{_ISO})(?=\s))"
    r"\s*(?:[-–|]\s+)?(?P<rest>.*)",
    re.DOTALL,
)
_SPOKEN = re.compile(
    r"(?P<name>[^\s:：\[\](){}<>\"/\\][^:：\[\]{}<>\"]{0,63}?)\s*(?::(?=\s|$)|：)\s?(?P<text>.*)", re.DOTALL
)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_PARTICLES = frozenset(
    ["al", "bin", "da", "das", "de", "del", "den", "der", "di", "do", "dos", "du", "el", "la", "le", "van", "von", "y"]
)
_NAME_WORDS = 4


@dataclass(slots=True)
class _Turn:
    line: int
    speaker: str
    stamp: str | None
    lines: list[str]
    chars: int = field(default=0)

    def add(self, line: str) -> None:
        # Past the limit a turn is refused anyhow; it need not fill the memory.
        if self.chars <= MAX_CONTENT_CHARS:
            self.lines.append(line)
            self.chars += len(line) + 1


def read_chat_text(source: Source) -> Iterator[Entry]:
    """The turns of a transcript. Lines that open no turn, and blank lines between them, belong to the turn before.

    A line opens a turn where it reads ``Name: text``. A name has at most four words, all in capitals but for particles
    such as ``de``; a single word may be small. After a timestamp any name will do.
    """
    turn: _Turn | None = None
    for number, line in numbered_lines(source.rewind()):
        if isinstance(line, Flaw):
            yield line
            continue
        opened = _opened(number, line)
        if isinstance(opened, Flaw):
            yield opened
        elif opened is not None:
            if turn is not None:
                yield _entry(turn, source)
            turn = opened
        elif turn is not None:
            turn.add(line)
        elif line.strip():
            yield Flaw(f"line {number}", "belongs to no turn; turns read 'Name: text', a [timestamp] before it or not")
    if turn is not None:
        yield _entry(turn, source)


def _opened(number: int, line: str) -> _Turn | Flaw | None:
    stamped = _STAMPED.fullmatch(line)
    spoken_line = _SPOKEN.fullmatch(stamped["rest"] if stamped else line.lstrip())
    if spoken_line is None or not (stamped or _is_name(spoken_line["name"])):
        return None
    stamp = (stamped["bracketed"] or stamped["bare"]).strip() if stamped else None
    if stamp is not None and not (re.fullmatch(_ISO, stamp) or _CLOCK.fullmatch(stamp)):
        return Flaw(f"line {number}", f"the timestamp {stamp!r} is not ISO 8601, such as 2026-05-01 12:00")
    return _Turn(number, spoken_line["name"].strip(), stamp, [spoken_line["text"]])


def _is_name(text: str) -> bool:
    words = text.split()
    if not any(char.isalnum() for char in text) or len(words) > _NAME_WORDS:
        return False
    return len(words) == 1 or all(word in _PARTICLES or not word[0].islower() for word in words)


def _entry(turn: _Turn, source: Source) -> Draft | Flaw:
    place = f"line {turn.line}"
    text = "\n".join(turn.lines).strip()
    if not text:
        return Flaw(place, f"{turn.speaker} says nothing")
    metadata: dict[str, Any] = {"speaker": turn.speaker}
    fields: dict[str, Any] = {"content": text, "metadata": metadata}
    if turn.stamp is not None:
        # A time of day alone is no moment.
        if _CLOCK.fullmatch(turn.stamp):
            metadata["time"] = turn.stamp
        else:
            fields["valid_from"] = turn.stamp
    return Draft(place, spoken(fields, turn.speaker), source.name)
