"""Connections to the database are few, and one tenant does not get them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from engram.problems import UnavailableProblem


class Shares:
    """At most ``most`` transactions of a tenant at once in this process; more of them wait, others do not.

    A fifth of the pool is out of any one tenant's reach, and with it the question who is asking.
    """

    def __init__(self, pool_size: int, patience: float) -> None:
        """``patience`` is how many seconds a transaction waits for its turn."""
        self.most = max(1, pool_size - max(1, pool_size // 5))
        self._patience = patience
        self._turns: dict[UUID, _Turns] = {}

    def __len__(self) -> int:
        """How many tenants have or want a connection."""
        return len(self._turns)

    @asynccontextmanager
    async def turn(self, tenant_id: UUID) -> AsyncIterator[None]:
        """Raises UnavailableProblem where no turn comes in time."""
        turns = self._turns.setdefault(tenant_id, _Turns(self.most))
        turns.wanted += 1
        try:
            await self._wait(turns)
            try:
                yield
            finally:
                turns.free.release()
        finally:
            turns.wanted -= 1
            if not turns.wanted:
                del self._turns[tenant_id]

    async def _wait(self, turns: _Turns) -> None:
        if not turns.free.locked():
            await turns.free.acquire()  # at once
            return
        try:
            async with asyncio.timeout(self._patience):
                await turns.free.acquire()
        except TimeoutError:
            raise UnavailableProblem("All connections to the database are busy.", retry_after=1) from None


class _Turns:
    def __init__(self, most: int) -> None:
        self.free = asyncio.Semaphore(most)
        self.wanted = 0
