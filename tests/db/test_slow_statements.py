"""Statements that take long are logged, however they are run; what they were given is not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import Database, driver
from engram.problems import UnavailableProblem
from engram.settings import Settings

SECRET = "zirconium"

Connected = Callable[..., Any]


@pytest.fixture
def slow(database_url: str, make_settings: Callable[..., Settings]) -> Connected:
    """A database whose statements are slow after so many seconds, and the lines that they make."""

    @asynccontextmanager
    async def connect(seconds: float, **changes: object) -> AsyncIterator[tuple[Database, list[Any]]]:
        settings = make_settings(database_url, slow_statement_seconds=seconds, **changes)
        database = await Database.connect(database_url, settings)
        with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
            yield database, logs
        await database.close()

    return connect


def lines(logs: list[Any]) -> list[Any]:
    return [line for line in logs if line["event"] == "statement.slow"]


SLEEP = "SELECT pg_sleep(0.1), {}::text"


async def fetch(connection: AsyncConnection) -> None:
    await driver(connection).fetch(SLEEP.format("$1"), SECRET)


async def fetchrow(connection: AsyncConnection) -> None:
    await driver(connection).fetchrow(SLEEP.format("$1"), SECRET)


async def fetchval(connection: AsyncConnection) -> None:
    await driver(connection).fetchval(SLEEP.format("$1"), SECRET)


async def execute(connection: AsyncConnection) -> None:
    await driver(connection).execute(SLEEP.format("$1"), SECRET)


async def executemany(connection: AsyncConnection) -> None:
    await driver(connection).executemany(SLEEP.format("$1"), [(SECRET,)])


async def through_sqlalchemy(connection: AsyncConnection) -> None:
    await connection.execute(text(SLEEP.format("CAST(:value AS text)").replace("::text", "")), {"value": SECRET})


@pytest.mark.parametrize("run", [fetch, fetchrow, fetchval, execute, executemany, through_sqlalchemy])
async def test_a_slow_statement_is_logged_once_without_what_it_was_given(
    slow: Connected, run: Callable[[AsyncConnection], Awaitable[None]]
) -> None:
    async with slow(0.05) as (database, logs):
        async with database.transaction() as connection:
            await run(connection)
            await driver(connection).execute("SELECT 1")
        (line,) = lines(logs)
    assert line["sql"].startswith("SELECT pg_sleep(0.1)")
    assert (line["log_level"], line["seconds"] >= 0.1) == ("warning", True)
    assert "failed" not in line
    assert SECRET not in str(logs)


@pytest.mark.parametrize("run", [execute, through_sqlalchemy])
async def test_one_that_the_database_gave_up_is_logged_by_the_class_of_the_error(
    slow: Connected, run: Callable[[AsyncConnection], Awaitable[None]]
) -> None:
    async with slow(0.02, statement_timeout=0.05) as (database, logs):
        with pytest.raises(UnavailableProblem):
            async with database.transaction() as connection:
                await run(connection)
        (line,) = lines(logs)
    assert line["failed"].startswith("QueryCanceled")
    assert SECRET not in str(logs)


async def test_a_statement_is_one_line_and_short(slow: Connected) -> None:
    async with slow(0.000_001) as (database, logs):
        async with database.transaction() as connection:
            await driver(connection).fetch("SELECT\n    1,\n" + ",\n".join(["2"] * 1000))
        (sql,) = [line["sql"] for line in lines(logs) if line["sql"].startswith("SELECT 1, 2, 2")]
    assert len(sql) == 500
    assert "\n" not in sql


@pytest.mark.parametrize("seconds", [0, 60])
async def test_fast_statements_are_not_logged_and_nought_logs_none(slow: Connected, seconds: float) -> None:
    async with slow(seconds) as (database, logs):
        async with database.transaction() as connection:
            await fetch(connection)
            await through_sqlalchemy(connection)
        assert lines(logs) == []


async def test_a_line_carries_the_request_that_it_belongs_to(slow: Connected) -> None:
    async with slow(0.05) as (database, logs):
        with structlog.contextvars.bound_contextvars(request_id="job-7"):
            async with database.transaction() as connection:
                await fetch(connection)
                await through_sqlalchemy(connection)
        assert [line["request_id"] for line in lines(logs)] == ["job-7", "job-7"]
