"""COPY on a connection that says how long it took. asyncpg tells its query loggers of all statements but these."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

OnCopy = Callable[[str, float, BaseException | None], None]
"""Called after each COPY with its SQL, the seconds it took, and the error where it failed."""


class TimedCopies(asyncpg.Connection):
    """``on_copy`` is called where it is set."""

    on_copy: OnCopy | None = None

    async def copy_to_table(self, table_name: str, **options: Any) -> str:
        async with self._timed(table_name):
            return await super().copy_to_table(table_name, **options)

    async def copy_records_to_table(self, table_name: str, **options: Any) -> str:
        async with self._timed(table_name):
            return await super().copy_records_to_table(table_name, **options)

    @asynccontextmanager
    async def _timed(self, table_name: str) -> AsyncIterator[None]:
        started = time.monotonic()
        failed: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failed = error
            raise
        finally:
            if self.on_copy is not None:
                self.on_copy(f"COPY {table_name} FROM STDIN", time.monotonic() - started, failed)
