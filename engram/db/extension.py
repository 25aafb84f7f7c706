"""The ``vector`` extension in a database: created when missing, wherever the server keeps such things."""

from __future__ import annotations

import asyncpg

from engram.problems import ConfigurationProblem

_EXISTS = "SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector')"
_WHERE = "SELECT current_user AS role, current_database() AS database"


async def ensure_vector_extension(connection: asyncpg.Connection) -> None:
    """Create the extension unless some schema has it. Raises ``ConfigurationProblem`` saying what to run."""
    if await connection.fetchval(_EXISTS):
        return
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except asyncpg.PostgresError as error:
        # IF NOT EXISTS does not cover somebody else who creates it at the same moment; they may have won.
        if await connection.fetchval(_EXISTS):
            return
        raise await _as_problem(connection, error) from error


async def _as_problem(connection: asyncpg.Connection, error: asyncpg.PostgresError) -> ConfigurationProblem:
    where = await connection.fetchrow(_WHERE)
    assert where is not None
    database = where["database"]
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return ConfigurationProblem(
            f"The role {where['role']} may not create the extension pgvector. "
            f"Let a superuser run in the database {database}: CREATE EXTENSION vector"
        )
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return ConfigurationProblem(
            f"The database {database} is read-only: a standby, or set so by default_transaction_read_only. "
            "Engram has to write to it."
        )
    if isinstance(error, asyncpg.InvalidSchemaNameError):
        return ConfigurationProblem(
            f"The search_path of the role {where['role']} in the database {database} names no schema that exists. "
            "Let it name the one that Engram shall make its tables in."
        )
    return ConfigurationProblem(
        f"The extension pgvector cannot be created in the database {database}: {error}. "
        "Install pgvector on the database server."
    )
