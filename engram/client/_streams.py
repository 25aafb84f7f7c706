"""Answers that are read as they come: their pieces, and what went wrong on their way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

import httpx

from engram.client._connection import finish
from engram.client._errors import APIConnectionError, APITimeoutError, EngramError
from engram.client._request import Operation, Sender


class Answer:
    """An answer that is open until it is read, or closed."""

    def __init__(self, sender: Sender, operation: Operation[httpx.Response]) -> None:
        self._response = finish(operation.perform(sender))

    def close(self) -> None:
        """Let go of the connection. What was not read yet is lost."""
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def received(response: httpx.Response) -> Iterator[bytes]:
    """Pieces of any size. Raises APIConnectionError where the answer breaks off."""
    pieces = response.iter_bytes()
    while True:
        try:
            piece = next(pieces, None)
        except httpx.HTTPError as error:
            raise _broken(error) from error
        if piece is None:
            return
        yield piece


async def areceived(response: httpx.Response) -> AsyncIterator[bytes]:
    """As ``received``."""
    pieces = response.aiter_bytes()
    while True:
        try:
            piece = await anext(pieces, None)
        except httpx.HTTPError as error:
            raise _broken(error) from error
        if piece is None:
            return
        yield piece


def _broken(error: httpx.HTTPError) -> EngramError:
    if isinstance(error, httpx.TimeoutException):
        return APITimeoutError("the export does not go on: timed out (read)")
    return APIConnectionError(f"the export was cut off: {str(error) or type(error).__name__}")
