"""Bodies that are sent as they are read: of files, and of whatever gives bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import BinaryIO, Protocol, runtime_checkable

_PIECE = 256 * 1024


@runtime_checkable
class Readable(Protocol):
    """A file that is open for reading in binary."""

    def read(self, size: int, /) -> bytes: ...


Source = bytes | BinaryIO | Readable | Iterable[bytes] | AsyncIterable[bytes]
"""What a body may come from. What is asynchronous needs ``AsyncEngram``."""


def blocking(source: Source) -> Iterable[bytes]:
    """Raises TypeError for what is asynchronous, or gives no bytes."""
    if isinstance(source, bytes):
        return iter([source])
    if isinstance(source, Readable):
        return _read(source)
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise TypeError(f"lines come from a file or an iterable of bytes, not from {type(source).__name__}")
    return source


def awaited(source: Source) -> AsyncIterable[bytes]:
    """The same for an event loop, which files do not hold up."""
    return source if isinstance(source, AsyncIterable) else _beside(iter(blocking(source)))


def _read(file: Readable) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


async def _beside(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece
