from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import Database, driver
from engram.db.embedded import EmbeddedPostgres
from engram.problems import UnavailableProblem
from engram.settings import Settings
from tests.fixtures.databases import administrator

Sleep = Callable[[AsyncConnection, float], Awaitable[None]]


async def sleep_in_driver(connection: AsyncConnection, seconds: float) -> None:
    await driver(connection).execute("SELECT pg_sleep($1)", seconds)


async def sleep_in_sqlalchemy(connection: AsyncConnection, seconds: float) -> None:
    await connection.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})


both_ways = pytest.mark.parametrize("sleep", [sleep_in_driver, sleep_in_sqlalchemy])


@pytest.fixture
async def narrow(database_url: str, make_settings: Callable[..., Settings]) -> AsyncIterator[Database]:
    """A pool of one connection."""
    settings = make_settings(database_url, pool_size=1, pool_timeout=0.2, statement_timeout=20)
    database = await Database.connect(database_url, settings)
    yield database
    await database.close()


async def at_work(server: EmbeddedPostgres, database_url: str) -> list[str]:
    """What the sessions of a database are executing, or hold open."""
    async with administrator(server) as connection:
        rows = await connection.fetch(
            "SELECT query FROM pg_stat_activity WHERE state <> 'idle' AND datname = $1",
            database_url.partition("?")[0].rpartition("/")[2],
        )
    return [row["query"] for row in rows]


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 (the server is asked)
            await asyncio.sleep(0.02)


async def test_a_full_pool_is_reported_as_unavailable_and_recovers(narrow: Database) -> None:
    async with narrow.transaction():
        with pytest.raises(UnavailableProblem, match="busy") as caught:
            async with narrow.transaction():
                pass
    assert caught.value.retry_after is not None
    await narrow.ping()


async def test_waiting_for_a_connection_ends_when_one_is_returned(
    database_url: str, make_settings: Callable[..., Settings]
) -> None:
    database = await Database.connect(database_url, make_settings(database_url, pool_size=2))

    async def work(n: int) -> int:
        async with database.transaction() as connection:
            return await driver(connection).fetchval("SELECT $1::int", n)

    assert await asyncio.gather(*(work(n) for n in range(100))) == list(range(100))
    await database.close()


@both_ways
async def test_a_statement_over_the_time_limit_is_unavailable(
    database_url: str, make_settings: Callable[..., Settings], sleep: Sleep
) -> None:
    database = await Database.connect(database_url, make_settings(database_url, statement_timeout=0.1))
    with pytest.raises(UnavailableProblem, match="too long"):
        async with database.transaction() as connection:
            await sleep(connection, 20)
    await database.ping()
    await database.close()


@both_ways
async def test_a_cancelled_task_cancels_its_query_and_gives_its_connection_back(
    narrow: Database, postgres: EmbeddedPostgres, database_url: str, sleep: Sleep
) -> None:
    async def work() -> None:
        async with narrow.transaction() as connection:
            await sleep(connection, 15)

    async def sleeping() -> bool:
        return any("pg_sleep" in query for query in await at_work(postgres, database_url))

    async def idle() -> bool:
        return not await at_work(postgres, database_url)

    task = asyncio.create_task(work())
    await until(sleeping)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await narrow.ping()
    # Well before the query would have ended by itself.
    await until(idle, seconds=5)


async def test_a_task_cancelled_again_and_again_leaks_nothing(narrow: Database) -> None:
    async def work() -> None:
        async with narrow.transaction() as connection:
            await sleep_in_driver(connection, 15)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.1)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await until(lambda: answers(narrow))


async def answers(database: Database) -> bool:
    try:
        await database.ping()
    except UnavailableProblem:
        return False
    return True


async def test_tasks_cancelled_at_any_moment_leave_the_pool_whole(narrow: Database) -> None:
    chance = random.Random(7)

    async def work() -> None:
        async with narrow.transaction() as connection:
            await driver(connection).execute("SELECT 1")
            await connection.execute(text("SELECT 2"))

    for _ in range(60):
        task = asyncio.create_task(work())
        for _ in range(chance.randrange(25)):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await until(lambda: answers(narrow), seconds=5)


async def test_a_commit_that_has_begun_is_seen_through_by_a_cancelled_task(database: Database) -> None:
    async with database.transaction() as connection:
        await driver(connection).execute("CREATE TABLE numbers (n int PRIMARY KEY)")

    async def count() -> int:
        async with database.snapshot() as connection:
            return await driver(connection).fetchval("SELECT count(*) FROM numbers")

    async def work(n: int) -> None:
        async with database.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES ($1)", n)
            asyncio.get_running_loop().call_soon(task.cancel)

    for n in range(5):
        task = asyncio.create_task(work(n))
        with pytest.raises(asyncio.CancelledError):
            await task
    await until(lambda: counted(count, 5))


async def counted(count: Callable[[], Awaitable[object]], expected: int) -> bool:
    return await count() == expected


async def test_a_closed_pool_waits_for_its_last_transactions(
    database_url: str, database: Database, make_settings: Callable[..., Settings]
) -> None:
    other = await Database.connect(database_url, make_settings(database_url))

    async def work() -> None:
        async with other.transaction() as connection:
            await driver(connection).execute("CREATE TABLE kept (n int)")
            asyncio.get_running_loop().call_soon(task.cancel)

    task = asyncio.create_task(work())
    await asyncio.gather(task, return_exceptions=True)
    await other.close()
    await other.close()
    async with database.snapshot() as connection:
        assert await driver(connection).fetchval("SELECT to_regclass('kept') IS NOT NULL")
