"""A connection that says how long each of its statements took."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import asyncpg

T = TypeVar("T")

OnStatement = Callable[[str, float, BaseException | None], None]
"""Called after each statement with its SQL, the seconds it took, and the error where it failed."""


class TimedStatements(asyncpg.Connection):
    """``on_statement`` is called where it is set.

    asyncpg's own query loggers are called in a turn of the event loop of their own, which a small statement notices.
    This takes a microsecond or two. COPY is not timed: nothing is copied into tables with row-level security.
    """

    on_statement: OnStatement | None = None

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        return await self._timed(query, super().execute(query, *args, **options))

    async def executemany(self, command: str, args: Any, **options: Any) -> None:
        await self._timed(command, super().executemany(command, args, **options))

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        return await self._timed(query, super().fetch(query, *args, **options))

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        return await self._timed(query, super().fetchrow(query, *args, **options))

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        return await self._timed(query, super().fetchval(query, *args, **options))

    async def _timed(self, sql: str, running: Coroutine[Any, Any, T]) -> T:
        if self.on_statement is None:
            return await running
        started = time.monotonic()
        try:
            result = await running
        except BaseException as error:
            self.on_statement(sql, time.monotonic() - started, error)
            raise
        self.on_statement(sql, time.monotonic() - started, None)
        return result
