"""What a pool does when its server goes away and comes back."""

# ruff: noqa: PT012 (it is a whole transaction that raises)

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from engram.db.database import Database, driver
from engram.db.embedded import EmbeddedPostgres
from engram.problems import UnavailableProblem
from engram.settings import Settings
from tests.db.servers import server_folder
from tests.fixtures.databases import administrator
from tests.fixtures.postgres import FAST


class Server:
    """A server of these tests' own, which can be stopped and started while pools are open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        self.running = EmbeddedPostgres.start(self.folder, FAST)

    def stop(self) -> None:
        self.running.stop()

    def restart(self) -> None:
        self.stop()
        self.start()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_folder() as folder:
        server = Server(folder)
        yield server
        server.stop()


@pytest.fixture
async def pool(server: Server, make_settings: Callable[..., Settings]) -> AsyncIterator[Database]:
    """Two idle connections, and an empty table."""
    database = await Database.connect(server.running.dsn, make_settings(server.running.dsn, pool_size=2))
    async with database.transaction() as one, database.transaction():
        await driver(one).execute("CREATE TABLE IF NOT EXISTS numbers (n int)")
        await driver(one).execute("TRUNCATE numbers")
    yield database
    await database.close()


async def count(database: Database) -> int:
    async with database.snapshot() as connection:
        return await driver(connection).fetchval("SELECT count(*) FROM numbers")


async def test_a_restart_between_transactions_is_not_noticed(server: Server, pool: Database) -> None:
    await asyncio.to_thread(server.restart)
    assert await asyncio.gather(*(count(pool) for _ in range(4))) == [0] * 4


async def test_a_restart_that_the_loop_has_not_heard_of_is_not_noticed(server: Server, pool: Database) -> None:
    server.restart()  # blocks the loop, which so cannot see the connections close
    assert await asyncio.gather(*(count(pool) for _ in range(4))) == [0] * 4


@pytest.mark.parametrize("through_driver", [True, False])
async def test_a_restart_inside_a_transaction_undoes_it_and_says_so(
    server: Server, pool: Database, through_driver: bool
) -> None:
    with pytest.raises(UnavailableProblem) as caught:
        async with pool.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            await asyncio.to_thread(server.restart)
            if through_driver:
                await driver(connection).execute("INSERT INTO numbers VALUES (2)")
            else:
                await connection.execute(text("INSERT INTO numbers VALUES (2)"))
    assert caught.value.retry_after is not None
    assert await count(pool) == 0


async def test_a_restart_before_the_commit_is_told_as_an_open_question(server: Server, pool: Database) -> None:
    with pytest.raises(UnavailableProblem, match="may or may not"):
        async with pool.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            await asyncio.to_thread(server.restart)
    assert await count(pool) == 0


async def test_without_a_server_work_is_unavailable_until_it_is_back(server: Server, pool: Database) -> None:
    await asyncio.to_thread(server.stop)
    try:
        for _ in range(3):
            with pytest.raises(UnavailableProblem):
                await count(pool)
        with pytest.raises(UnavailableProblem):
            await pool.ping()
    finally:
        await asyncio.to_thread(server.start)
    assert await count(pool) == 0


async def test_an_own_error_in_a_lost_transaction_stays_itself(server: Server, pool: Database) -> None:
    with pytest.raises(LookupError):
        async with pool.transaction():
            await asyncio.to_thread(server.restart)
            raise LookupError
    assert await count(pool) == 0


async def test_sessions_ended_by_an_administrator_are_replaced(server: Server, pool: Database) -> None:
    for _ in range(2):
        async with administrator(server.running) as connection:
            await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'engram'")
        assert await asyncio.gather(*(count(pool) for _ in range(4))) == [0] * 4


async def test_connections_that_died_together_are_never_handed_out_one_by_one(
    server: Server, make_settings: Callable[..., Settings]
) -> None:
    """A second task may take what the first one repaired, and leave it another dead one to try again with."""
    dsn = server.running.dsn
    database = await Database.connect(dsn, make_settings(dsn, pool_size=2))
    for head_start in range(60):
        async with database.snapshot(), database.snapshot():
            pass
        end_sessions(server.running)
        first = asyncio.create_task(database.ping())
        for _ in range(head_start):
            await asyncio.sleep(0)
        async with database.snapshot():
            await first
    await database.close()


def end_sessions(server: EmbeddedPostgres) -> None:
    """Blocks the loop meanwhile, which so does not see the connections close."""

    async def end() -> None:
        async with administrator(server) as connection:
            while await connection.fetch(  # noqa: ASYNC110 (the server is asked)
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'engram'"
            ):
                await asyncio.sleep(0.002)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, end()).result()


async def test_a_server_that_starts_late_is_waited_for(server: Server, make_settings: Callable[..., Settings]) -> None:
    await asyncio.to_thread(server.stop)
    dsn = server.running.dsn
    connecting = asyncio.create_task(Database.connect(dsn, make_settings(dsn, connect_timeout=60)))
    await asyncio.sleep(0.3)
    assert not connecting.done()
    await asyncio.to_thread(server.start)
    await (await connecting).close()
