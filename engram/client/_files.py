"""Files of other programs, as they come in: pieces of bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO

import httpx

from engram.client._request import Operation, Sender
from engram.client._streams import Answer, areceived, received


class GraphExport(Answer):
    """An exported graph, read from the server as it is iterated, once.

    Raises APIConnectionError where it was cut off, after the pieces that came.
    """

    def __iter__(self) -> Iterator[bytes]:
        """Pieces of any size."""
        with self:
            yield from received(self._response)

    def save(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """Write all of it to a file that is open for writing in binary; how many bytes. ``progress`` is told."""
        written = 0
        for piece in self:
            file.write(piece)
            written += len(piece)
            if progress is not None:
                progress(written)
        return written


class AsyncGraphExport:
    """As ``GraphExport``; iterate with ``async for``. The server is asked when that begins."""

    def __init__(self, sender: Sender, operation: Operation[httpx.Response]) -> None:
        self._sender = sender
        self._operation = operation

    async def __aiter__(self) -> AsyncIterator[bytes]:
        response = await self._operation.perform(self._sender)
        try:
            async for piece in areceived(response):
                yield piece
        finally:
            await response.aclose()

    async def save(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """As ``GraphExport.save``. Writing to the file blocks."""
        written = 0
        async for piece in self:
            file.write(piece)
            written += len(piece)
            if progress is not None:
                progress(written)
        return written
