"""One tenant does not get all connections."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from engram.db.database import Database
from engram.problems import UnavailableProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE, Scope
from engram.tenants.shares import Shares


@pytest.mark.parametrize(("pool", "most"), [(1, 1), (2, 1), (5, 4), (10, 8), (100, 80)])
def test_a_fifth_is_left_for_others(pool: int, most: int) -> None:
    assert Shares(pool, 1).most == most


async def test_a_tenant_that_wants_all_connections_leaves_one(database: Database) -> None:
    tenants = TenantDatabase(database)
    mine = Shares(database.pool_status().limit, 1).most
    async with AsyncExitStack() as stack:
        for _ in range(mine):
            await stack.enter_async_context(tenants.snapshot(DEFAULT_SCOPE))
        waiting = [asyncio.create_task(stack.enter_async_context(tenants.snapshot(DEFAULT_SCOPE))) for _ in range(3)]
        await asyncio.sleep(0)
        async with asyncio.timeout(5), tenants.snapshot(Scope(uuid4())):
            pass
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    async with tenants.snapshot(DEFAULT_SCOPE):
        pass


async def test_who_waits_too_long_is_told_and_nothing_is_left_behind() -> None:
    shares = Shares(1, 0.01)
    tenant = UUID(int=1)
    async with shares.turn(tenant):
        with pytest.raises(UnavailableProblem, match="busy"):
            async with shares.turn(tenant):
                raise AssertionError
    assert len(shares) == 0
    async with shares.turn(tenant):
        assert len(shares) == 1
    assert len(shares) == 0


async def test_turns_that_fail_or_are_given_up_come_back() -> None:
    shares = Shares(3, 10)

    async def work(number: int) -> None:
        async with shares.turn(UUID(int=number % 2)):
            await asyncio.sleep(0)
            if number % 3 == 0:
                raise RuntimeError
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work(number)) for number in range(60)]
    await asyncio.sleep(0)
    for task in tasks[::7]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(shares) == 0
