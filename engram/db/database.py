"""The database as services see it: a pool, and transactions that either happen wholly or not at all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeVar

import asyncpg
import pydantic_core
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from engram.db.connection import open_connection, patiently
from engram.db.dsn import Dsn, parse_dsn
from engram.db.failures import as_unavailable, is_exhausted
from engram.db.pool import PoolStatus
from engram.db.slow_statements import SlowStatements
from engram.problems import UnavailableProblem
from engram.settings import Settings
from engram.telemetry.stages import stage

T = TypeVar("T")

_READ_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"

# A rollback that takes longer has lost its server; the connection is thrown away instead.
_ROLLBACK_SECONDS = 5.0
_PING_SECONDS = 5.0


def driver(connection: AsyncConnection) -> asyncpg.Connection:
    """The asyncpg connection beneath, in the same transaction: for hot statements.

    Vectors are numpy float32 arrays; ``jsonb`` is bound as JSON text and read as Python values. A savepoint
    is ``connection.begin_nested()``: asyncpg's ``transaction()`` refuses to run in one it did not begin.
    """
    assert connection.sync_connection is not None
    raw = connection.sync_connection.connection.driver_connection
    assert isinstance(raw, asyncpg.Connection)
    return raw


class Database:
    """A pool of connections. Statements run only inside ``transaction()`` or ``snapshot()``.

    Failures that may pass are raised as ``UnavailableProblem``: the server is away, all connections are busy,
    a statement ran into the time limit or into another change. All other errors leave as they came.
    """

    def __init__(self, engine: AsyncEngine, dsn: Dsn, open_one: Callable[[], Awaitable[asyncpg.Connection]]) -> None:
        self._engine = engine
        self._dsn = dsn
        self._open_one = open_one
        self._distrusted_before = 0.0
        self._endings: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._timeouts = 0
        event.listen(engine.sync_engine, "connect", _remember_opening)
        event.listen(engine.sync_engine, "checkout", self._refuse_stale)

    @classmethod
    async def connect(cls, dsn: str, settings: Settings) -> Database:
        """Open a pool, waiting up to ``settings.connect_timeout`` seconds for the server to answer.

        Raises ``UnavailableProblem`` when it does not, ``ConfigurationProblem`` when it refuses us.
        """
        target = parse_dsn(dsn)
        slow = SlowStatements(settings.slow_statement_seconds)

        async def open_one() -> asyncpg.Connection:
            connection = await open_connection(
                target,
                connect_timeout=settings.connect_timeout,
                statement_timeout=settings.statement_timeout,
            )
            slow.watch(connection)
            return connection

        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=open_one,
            # BEGIN and COMMIT are ours: SQLAlchemy would begin at its own first statement only, and what the
            # driver did before that would be committed at once.
            isolation_level="AUTOCOMMIT",
            pool_size=settings.pool_size,
            max_overflow=0,
            pool_timeout=settings.pool_timeout,
            # The connection used last has the warmest statement cache.
            pool_use_lifo=True,
            # Values are what users stored: not for logs.
            hide_parameters=True,
            json_deserializer=pydantic_core.from_json,
        )
        slow.watch_engine(engine.sync_engine)
        database = cls(engine, target, open_one)
        try:
            await patiently(settings.connect_timeout)(database._greet)
        except BaseException:
            await database.close()
            raise
        return database

    def __repr__(self) -> str:
        return f"Database({self._dsn})"

    @asynccontextmanager
    async def transaction(self, *, setup: str = "") -> AsyncIterator[AsyncConnection]:
        """A transaction, READ COMMITTED: committed after the block, rolled back if the block raises.

        ``setup`` are statements without parameters that are sent together with BEGIN.
        """
        async with self._begun(_joined(_READ_WRITE, setup)) as connection:
            yield connection

    @asynccontextmanager
    async def snapshot(self, *, setup: str = "") -> AsyncIterator[AsyncConnection]:
        """A read-only transaction in which every statement sees the same state of the database."""
        async with self._begun(_joined(_SNAPSHOT, setup)) as connection:
            yield connection

    async def ask(self, question: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What ``question`` gives, which is one statement and a transaction by itself: two round trips less.

        Where the connection proves dead it is asked again on another: it must be harmless to repeat.
        """
        for last_try in (False, True):
            connection = await self._take()
            try:
                answer = await question(connection)
            except BaseException as error:
                lost = _lost_by(connection, error)
                # Cancelled, a statement may still be running: nobody else should get its answer.
                spoilt = lost or not isinstance(error, Exception)
                await self._finish(self._discard(connection) if spoilt else connection.close())
                if last_try or not (lost and isinstance(error, Exception)):
                    _raise(error, connection_lost=lost)
            else:
                await connection.close()
                return answer
        raise AssertionError

    async def connect_beside(self) -> asyncpg.Connection:
        """A connection outside the pool, for whoever listens on it; it is the caller's to close.

        Raises ``UnavailableProblem`` where the server does not answer, ``ConfigurationProblem`` where it refuses us.
        """
        return await self._open_one()

    async def ping(self) -> None:
        """Ask the server for a sign of life. Raises ``UnavailableProblem``."""
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await self._greet()
        except TimeoutError as error:
            raise UnavailableProblem("The database does not answer.", retry_after=1) from error

    @property
    def pool_timeout(self) -> float:
        """Seconds that a transaction waits for a free connection."""
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)
        return float(pool.timeout())

    def pool_status(self) -> PoolStatus:
        """How busy the pool is right now."""
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)
        return PoolStatus(
            limit=pool.size(),
            in_use=pool.checkedout(),
            idle=pool.checkedin(),
            waiting=self._waiting,
            timeouts=self._timeouts,
        )

    async def close(self) -> None:
        """Wait for transactions that are ending, and close the connections. Closing twice is fine."""
        await asyncio.gather(*self._endings, return_exceptions=True)
        await self._engine.dispose()

    async def _greet(self) -> None:
        async with self.snapshot() as connection:
            await driver(connection).execute("SELECT 1")

    @asynccontextmanager
    async def _begun(self, begin: str) -> AsyncIterator[AsyncConnection]:
        connection = await self._begin(begin)
        try:
            yield connection
        except BaseException as error:
            lost = _lost_by(connection, error)
            await self._finish(self._roll_back(connection))
            _raise(error, connection_lost=lost)
        else:
            await self._finish(self._commit(connection))

    async def _begin(self, begin: str) -> AsyncConnection:
        """A connection in a new transaction. One that proves dead is replaced: nothing was done on it yet."""
        for last_try in (False, True):
            connection = await self._take()
            try:
                await driver(connection).execute(begin)
            except BaseException as error:
                lost = _lost_by(connection, error)
                await self._finish(self._discard(connection))
                if last_try or not (lost and isinstance(error, Exception)):
                    _raise(error, connection_lost=lost)
            else:
                return connection
        raise AssertionError

    async def _take(self) -> AsyncConnection:
        self._waiting += 1
        try:
            with stage("database.connection"):
                return await self._engine.connect()
        except Exception as error:
            self._timeouts += is_exhausted(error)
            _raise(error)
        finally:
            self._waiting -= 1

    async def _finish(self, ending: Coroutine[Any, Any, None]) -> None:
        """See an ending through even if the task is cancelled meanwhile: no connection may leak or hang."""
        task = asyncio.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        await asyncio.shield(task)

    async def _commit(self, connection: AsyncConnection) -> None:
        try:
            status = await driver(connection).execute("COMMIT")
        except Exception as error:
            if not _lost_by(connection, error):
                await connection.close()
                raise
            await self._discard(connection)
            raise UnavailableProblem(
                "The database went away during a commit: the change may or may not have been stored.",
                retry_after=1,
            ) from error
        await connection.close()
        if status != "COMMIT":
            # Postgres answers ROLLBACK, and no error, when an earlier statement had failed.
            raise RuntimeError("a failed statement was ignored inside a transaction; nothing of it was stored")

    async def _roll_back(self, connection: AsyncConnection) -> None:
        try:
            if not connection.invalidated:
                async with asyncio.timeout(_ROLLBACK_SECONDS):
                    await driver(connection).execute("ROLLBACK")
        except Exception:
            # What the block raised is what matters; a connection in an unknown state must not be used again.
            await self._discard(connection)
        else:
            await connection.close()

    async def _discard(self, connection: AsyncConnection) -> None:
        if _is_lost(connection):
            self._distrusted_before = time.monotonic()
        await connection.invalidate()
        await connection.close()

    def _refuse_stale(self, dbapi_connection: Any, record: Any, proxy: Any) -> None:
        if dbapi_connection.driver_connection.is_closed():
            self._distrusted_before = time.monotonic()
        # What ended one connection has probably ended the others too, some of which may not show it.
        if record.info["opened"] < self._distrusted_before:
            raise DisconnectionError  # the pool's signal to open another one in its place


def _joined(begin: str, setup: str) -> str:
    return f"{begin}; {setup}" if setup else begin


def _remember_opening(dbapi_connection: Any, record: Any) -> None:
    record.info["opened"] = time.monotonic()


def _is_lost(connection: AsyncConnection) -> bool:
    return connection.invalidated or driver(connection).is_closed()


def _lost_by(connection: AsyncConnection, error: BaseException) -> bool:
    """Whether the connection is lost, as far as the error tells."""
    if isinstance(error, asyncpg.InternalClientError) and not connection.invalidated:
        # The server said between two statements that it ends, and hangs up in a moment. Till then the driver takes
        # the connection for open, and can do nothing with it.
        driver(connection).terminate()
    return _is_lost(connection)


def _raise(error: BaseException, *, connection_lost: bool = False) -> NoReturn:
    problem = as_unavailable(error, connection_lost=connection_lost)
    if problem is not None:
        raise problem from error
    raise error
