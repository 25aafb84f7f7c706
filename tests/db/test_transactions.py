# ruff: noqa: PT012 (it is a whole transaction that raises)
from __future__ import annotations

import json

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from engram.db.database import Database, driver
from engram.problems import UnavailableProblem

COUNT = "SELECT count(*) FROM numbers"


@pytest.fixture
async def numbers(database: Database) -> Database:
    async with database.transaction() as connection:
        await driver(connection).execute("CREATE TABLE numbers (n int PRIMARY KEY)")
    return database


async def stored(database: Database) -> list[int]:
    async with database.snapshot() as connection:
        return [row["n"] for row in await driver(connection).fetch("SELECT n FROM numbers ORDER BY n")]


async def test_the_driver_and_sqlalchemy_share_one_transaction(numbers: Database) -> None:
    async with numbers.transaction() as connection:
        await driver(connection).execute("INSERT INTO numbers VALUES (1)")
        await connection.execute(text("INSERT INTO numbers VALUES (2)"))
        await driver(connection).copy_records_to_table("numbers", records=[(3,), (4,)])
        assert (await connection.execute(text(COUNT))).scalar() == 4
        assert await stored(numbers) == []
    assert await stored(numbers) == [1, 2, 3, 4]


async def test_what_only_the_driver_wrote_is_rolled_back_with_the_block(numbers: Database) -> None:
    with pytest.raises(LookupError):
        async with numbers.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            raise LookupError
    assert await stored(numbers) == []


async def test_what_both_wrote_is_rolled_back_when_a_statement_fails(numbers: Database) -> None:
    with pytest.raises(IntegrityError):
        async with numbers.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            await connection.execute(text("INSERT INTO numbers VALUES (2)"))
            await connection.execute(text("INSERT INTO numbers VALUES (1)"))
    assert await stored(numbers) == []


async def test_a_swallowed_failure_does_not_pass_for_a_commit(numbers: Database) -> None:
    with pytest.raises(RuntimeError, match="nothing of it was stored"):
        async with numbers.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            with pytest.raises(asyncpg.UniqueViolationError):
                await driver(connection).execute("INSERT INTO numbers VALUES (1)")
    assert await stored(numbers) == []


async def test_a_failure_inside_a_savepoint_leaves_the_rest_standing(numbers: Database) -> None:
    async with numbers.transaction() as connection:
        await driver(connection).execute("INSERT INTO numbers VALUES (1)")
        with pytest.raises(asyncpg.UniqueViolationError):
            async with connection.begin_nested():
                await driver(connection).execute("INSERT INTO numbers VALUES (2)")
                await driver(connection).execute("INSERT INTO numbers VALUES (1)")
        await connection.execute(text("INSERT INTO numbers VALUES (3)"))
    assert await stored(numbers) == [1, 3]


async def test_a_deferred_constraint_that_fails_at_commit_stores_nothing(numbers: Database) -> None:
    async with numbers.transaction() as connection:
        await driver(connection).execute("CREATE TABLE parts (n int REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        async with numbers.transaction() as connection:
            await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            await driver(connection).execute("INSERT INTO parts VALUES (2)")
    assert await stored(numbers) == []


async def test_a_snapshot_sees_one_state_while_others_write(numbers: Database) -> None:
    async with numbers.snapshot() as reader:
        assert await driver(reader).fetchval(COUNT) == 0
        async with numbers.transaction() as writer:
            await driver(writer).execute("INSERT INTO numbers VALUES (1)")
        assert await driver(reader).fetchval(COUNT) == 0
    assert await stored(numbers) == [1]


async def test_a_transaction_sees_what_others_committed_meanwhile(numbers: Database) -> None:
    async with numbers.transaction() as reader:
        assert await driver(reader).fetchval(COUNT) == 0
        async with numbers.transaction() as writer:
            await driver(writer).execute("INSERT INTO numbers VALUES (1)")
        assert await driver(reader).fetchval(COUNT) == 1


@pytest.mark.parametrize("through_driver", [True, False])
async def test_nothing_can_be_written_in_a_snapshot(numbers: Database, through_driver: bool) -> None:
    with pytest.raises(UnavailableProblem, match="read-only"):
        async with numbers.snapshot() as connection:
            if through_driver:
                await driver(connection).execute("INSERT INTO numbers VALUES (1)")
            else:
                await connection.execute(text("INSERT INTO numbers VALUES (1)"))


async def test_sessions_are_in_utc_and_named(database: Database) -> None:
    async with database.snapshot() as connection:
        row = await driver(connection).fetchrow(
            "SELECT current_setting('timezone'), current_setting('application_name'), current_setting('jit')"
        )
    assert tuple(row or ()) == ("UTC", "engram", "off")


async def test_jsonb_is_bound_as_text_and_read_as_values(database: Database) -> None:
    value = {"a": [1, None, 2.5, "é"], "b": {"c": True}}
    async with database.snapshot() as connection:
        assert await driver(connection).fetchval("SELECT $1::jsonb", json.dumps(value)) == value


async def test_an_error_does_not_list_the_values_of_a_statement(database: Database) -> None:
    with pytest.raises(DBAPIError, match="division by zero") as caught:
        async with database.transaction() as connection:
            await connection.execute(text("SELECT 1 / 0, CAST(:words AS text)"), {"words": "what a user said"})
    assert "what a user said" not in str(caught.value)
