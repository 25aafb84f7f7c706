from __future__ import annotations

from collections.abc import Callable

import asyncpg
import numpy as np
import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select

from engram.db.database import Database, driver
from engram.db.vectors import HalfVector, Vector, packed
from engram.settings import Settings

VALUES = [0.5, -1.25, 3.0]


@pytest.mark.parametrize("given", [VALUES, np.array(VALUES, dtype=np.float32), np.array(VALUES)])
@pytest.mark.parametrize("type_name", ["vector", "halfvec"])
async def test_a_vector_goes_in_as_numbers_and_comes_out_as_a_float32_array(
    database: Database, type_name: str, given: object
) -> None:
    async with database.snapshot() as connection:
        found = await driver(connection).fetchval(f"SELECT $1::{type_name}", given)
    assert found.dtype == np.float32
    assert found.tolist() == VALUES


async def test_float32_survives_to_the_bit(database: Database) -> None:
    given = np.random.default_rng(1).standard_normal(768).astype(np.float32)
    async with database.snapshot() as connection:
        found = await driver(connection).fetchval("SELECT $1::vector", given)
    assert found.tobytes() == given.tobytes()


async def test_arrays_of_vectors_work_both_ways(database: Database) -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    async with database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT v FROM unnest($1::vector[]) WITH ORDINALITY AS t (v, n) ORDER BY n", packed(matrix)
        )
        array = await driver(connection).fetchval("SELECT $1::vector[]", packed(matrix))
        none = await driver(connection).fetchval("SELECT $1::vector[]", packed([]))
    assert np.array_equal(np.stack([row["v"] for row in rows]), matrix)
    assert np.array_equal(np.stack(array), matrix)
    assert none == []


async def test_a_matrix_is_not_a_vector(database: Database) -> None:
    async with database.snapshot() as connection:
        with pytest.raises(asyncpg.DataError, match="one dimension"):
            await driver(connection).fetchval("SELECT $1::vector", np.ones((2, 2)))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
async def test_the_database_refuses_what_is_not_a_number(database: Database, number: float) -> None:
    with pytest.raises(asyncpg.DataError):
        async with database.snapshot() as connection:
            await driver(connection).fetchval("SELECT $1::vector", [1.0, number])


async def test_columns_take_and_give_the_same_values_through_sqlalchemy(database: Database) -> None:
    table = Table("things", MetaData(), Column("id", Integer), Column("v", Vector(3)), Column("h", HalfVector(3)))
    async with database.transaction() as connection:
        await connection.run_sync(table.create)
        await connection.execute(insert(table), [{"id": 1, "v": np.array(VALUES, np.float32), "h": VALUES}])
        query = select(table.c.v, table.c.h).order_by(table.c.v.cosine_distance(np.ones(3)))
        row = (await connection.execute(query)).one()
    assert row.v.tolist() == row.h.tolist() == VALUES


async def test_an_extension_in_a_schema_of_its_own_needs_no_qualification(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute('CREATE SCHEMA "Odd schema"')
    await raw.execute('CREATE EXTENSION vector SCHEMA "Odd schema"')
    await raw.close()
    database = await Database.connect(empty_database_url, make_settings(empty_database_url))
    async with database.transaction() as connection:
        distance = await driver(connection).fetchval("SELECT $1::vector <=> $2::vector", [1, 0], [0, 1])
        await driver(connection).execute("CREATE TABLE things (v vector(2))")
        where = await driver(connection).fetchval("SELECT 'things'::regclass::text")
    await database.close()
    assert distance == 1
    assert where == "things"
