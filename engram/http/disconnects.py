"""Work that nobody waits for any more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from engram.problems import Problem

T = TypeVar("T")


UNWATCHED_SECONDS = 0.02
"""How long work goes on before anybody asks whether the client is still there: most is done by then."""


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled if the client hangs up. Then raises ClientDisconnect.

    For reads, whose body has been read. A write goes on: it is harmless, and its caller may have only lost patience.
    """
    watch = _Watch(request.receive)
    try:
        return await work
    except BaseException:
        # Work may turn its cancellation into an error of its own.
        if watch.cancelled_the_work():
            raise ClientDisconnect from None
        raise
    finally:
        watch.end()


class _Watch:
    """Cancels the task that made it once the client hangs up."""

    def __init__(self, receive: Receive) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._working = task
        self._receive = receive
        self._gone = False
        self._watching: asyncio.Task[None] | None = None
        self._start = asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, self._begin)

    def end(self) -> None:
        self._start.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def cancelled_the_work(self) -> bool:
        """Whether it was this watch alone that cancelled the task, which then goes on as if it were not."""
        return self._gone and self._working.uncancel() == 0

    def _begin(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
        except Problem:
            return  # with a body that a read has no use for, and that is too large or too slow
        self._gone = True
        self._working.cancel()
