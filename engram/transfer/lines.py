"""Lines of an export as bytes: written, summed up, and found in what comes in pieces. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID


class LineTooLong(Exception):
    """A line has more bytes than are held at once."""


class Summary:
    """What a footer says of the lines before it."""

    def __init__(self) -> None:
        self.lines = 0
        self.counts: Counter[str] = Counter()
        self._digest = hashlib.sha256()

    def add(self, line: bytes, kind: str) -> None:
        """``line`` with its end."""
        self.lines += 1
        self.counts[kind] += 1
        self._digest.update(line)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def as_line(record: Mapping[str, Any]) -> bytes:
    """One object on one line, with its end. Moments are ISO 8601 in UTC."""
    return (
        json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode() + b"\n"
    )


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a line")


class Pieces:
    """Bytes as they come in, cut into lines."""

    def __init__(self, longest: int) -> None:
        """``longest`` is how many bytes a line may have."""
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def lines(self, piece: bytes) -> Iterator[bytes]:
        """The lines that this piece completes, with their ends. Raises LineTooLong."""
        *whole, rest = piece.split(b"\n")
        for end in whole:
            self._hold(end)
            yield b"".join(self._parts) + b"\n"
            self._parts, self._size = [], 0
        self._hold(rest)

    def rest(self) -> bytes:
        """What came after the last line's end."""
        return b"".join(self._parts)

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            raise LineTooLong
        if part:
            self._parts.append(part)


def joined(lines: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of about ``size``."""
    held: list[bytes] = []
    length = 0
    for line in lines:
        held.append(line)
        length += len(line)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    if held:
        yield b"".join(held)
