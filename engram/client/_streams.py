"""Answers that are read as they come: their pieces, and what went wrong on their way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx

from engram.client._errors import APIConnectionError, APITimeoutError, EngramError


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
