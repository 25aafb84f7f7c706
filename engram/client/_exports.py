"""Exports as they come in: line by line, and checked to their end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO

import httpx

from engram.client._errors import EngramError
from engram.client._request import Operation, Sender
from engram.client._streams import Answer, areceived, received
from engram.transfer.lines import LineTooLong, Pieces, Summary

_LONGEST = 1024 * 1024 * 1024
"""Bytes of a line. What a server writes is shorter by far: this is no export then."""


class _Checked:
    """Cuts what comes into lines, and says at the end whether it is whole."""

    def __init__(self) -> None:
        self._pieces = Pieces(_LONGEST)
        self._summary = Summary()
        self._last = b""

    def lines(self, piece: bytes) -> Iterator[bytes]:
        try:
            for line in self._pieces.lines(piece):
                if self._last:
                    self._summary.add(self._last, "")
                self._last = line
                yield line
        except LineTooLong:
            raise EngramError("what the server sends is no export: a line of it has no end") from None

    def finish(self) -> None:
        """Raises EngramError where the end is missing."""
        try:
            footer = json.loads(self._last or b"null")
        except ValueError:
            footer = None
        if not isinstance(footer, dict) or footer.get("type") != "footer" or self._pieces.rest():
            raise EngramError("the export was cut off: its footer is missing")
        if footer.get("sha256") != self._summary.sha256:
            raise EngramError("the export was changed on its way: its lines are not those that the footer sums up")


class Export(Answer):
    """The lines of an export, read from the server as they are iterated, once.

    Raises EngramError where the export was cut off, after the lines that came.
    """

    def __iter__(self) -> Iterator[bytes]:
        """Lines with their ends."""
        checked = _Checked()
        with self:
            for piece in received(self._response):
                yield from checked.lines(piece)
            checked.finish()

    def save(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """Write all lines to a file that is open for writing in binary; how many there were. ``progress`` is told."""
        written = 0
        for line in self:
            file.write(line)
            written += 1
            if progress is not None:
                progress(written)
        return written


class AsyncExport:
    """As ``Export``; iterate with ``async for``. The server is asked when that begins."""

    def __init__(self, sender: Sender, operation: Operation[httpx.Response]) -> None:
        self._sender = sender
        self._operation = operation

    async def __aiter__(self) -> AsyncIterator[bytes]:
        response = await self._operation.perform(self._sender)
        checked = _Checked()
        try:
            async for piece in areceived(response):
                for line in checked.lines(piece):
                    yield line
            checked.finish()
        finally:
            await response.aclose()

    async def save(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """As ``Export.save``. Writing to the file blocks."""
        written = 0
        async for line in self:
            file.write(line)
            written += 1
            if progress is not None:
                progress(written)
        return written
