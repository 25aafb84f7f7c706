"""Bringing a database to the revision that the code expects, by one process at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from threading import Lock
from typing import Any

import asyncpg
import structlog
from alembic.config import Config
from sqlalchemy import Connection, NullPool
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from alembic import command
from engram.db.compatibility import advice, read_versions, require_supported
from engram.db.connection import open_connection, patiently
from engram.db.database import Database, driver
from engram.db.dsn import parse_dsn
from engram.db.extension import ensure_vector_extension
from engram.db.failures import as_unavailable, sqlstate
from engram.db.revisions import RevisionStatus, alembic_config, current_revision, head_revision, known
from engram.problems import ConfigurationProblem, UnavailableProblem
from engram.settings import Settings

ADVISORY_LOCK = 0x656E6772616D
"""What a session holds while it migrates a database: "engram" in ASCII."""

_POLL_SECONDS = 0.1
_NO_PRIVILEGE = "42501"
_ROLES_ADVICE = (
    " Engram's transactions run as roles that own nothing, and this role may not make them: let an administrator run"
    " once what engram migrate --print-roles prints, or ALTER ROLE ... CREATEROLE for it."
)

# Alembic keeps the running environment in a global.
_alembic_lock = Lock()

_log = structlog.get_logger(__name__)


async def migrate(dsn: str, settings: Settings, *, patience: float = 600.0) -> str:
    """Upgrade a database to the newest revision, and give its name. An up-to-date database is left alone.

    Any number of processes may call this at once: one works, the others wait, up to ``patience`` seconds.
    Creates the ``vector`` extension. Each revision is one transaction.

    Raises ``ConfigurationProblem`` for a database that cannot be migrated and says why (too old a server, a
    newer revision, missing rights), ``UnavailableProblem`` if it is away or the wait was in vain.
    """
    await _in_thread(lambda: _change(dsn, settings, patience, lambda config: command.upgrade(config, "head")))
    return head_revision()


async def downgrade(dsn: str, settings: Settings, revision: str, *, patience: float = 600.0) -> None:
    """Take a database back to an earlier revision, or to ``base``, losing what later ones had added."""
    await _in_thread(lambda: _change(dsn, settings, patience, lambda config: command.downgrade(config, revision)))


async def revision_status(database: Database) -> RevisionStatus:
    """Where a database stands. Raises ``ConfigurationProblem`` for a revision unknown to this version."""
    head = (await asyncio.to_thread(known)).head
    async with database.snapshot() as connection:
        return RevisionStatus(current=await current_revision(driver(connection)), head=head)


async def _in_thread(change: Callable[[], Coroutine[Any, Any, None]]) -> None:
    # Alembic computes for a good while between its statements: a loop of its own keeps the caller's free.
    await asyncio.to_thread(lambda: asyncio.run(change()))


async def _change(dsn: str, settings: Settings, patience: float, action: Callable[[Config], None]) -> None:
    target = parse_dsn(dsn)

    async def open_one() -> asyncpg.Connection:
        # No limit to a statement: building an index over a large table takes its time.
        return await open_connection(target, connect_timeout=settings.connect_timeout, statement_timeout=None)

    engine = create_async_engine("postgresql+asyncpg://", async_creator=open_one, poolclass=NullPool)

    connection = engine.connect()
    try:
        await patiently(settings.connect_timeout)(connection.start)
        try:
            # Held by the session, and so until the connection closes: across transactions, whatever happens.
            await _take_lock(driver(connection), patience)
            await _prepare(driver(connection))
            await connection.run_sync(_run, action)
        finally:
            await connection.close()
    except DBAPIError as error:
        raise _as_problem(error) from error
    finally:
        await engine.dispose()


async def _take_lock(connection: asyncpg.Connection, patience: float) -> None:
    """Ask again and again: a session waiting inside a statement would hold up CREATE INDEX CONCURRENTLY."""
    deadline = asyncio.get_running_loop().time() + patience
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", ADVISORY_LOCK):
        if asyncio.get_running_loop().time() > deadline:
            raise UnavailableProblem(f"Another process has been migrating the database for {patience:g} s.")
        await asyncio.sleep(_POLL_SECONDS)


async def _prepare(connection: asyncpg.Connection) -> None:
    require_supported(await read_versions(connection))
    await ensure_vector_extension(connection)
    versions = await read_versions(connection)
    require_supported(versions)
    hint = advice(versions)
    if hint is not None:
        _log.warning(hint)
    await current_revision(connection)


def _run(connection: Connection, action: Callable[[Config], None]) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    with _alembic_lock:
        action(config)


def _as_problem(error: DBAPIError) -> ConfigurationProblem | UnavailableProblem:
    unavailable = as_unavailable(error, connection_lost=error.connection_invalidated)
    if unavailable is not None:
        return unavailable
    reason = str(error.orig).splitlines()[0]
    advice = ""
    if sqlstate(error) == _NO_PRIVILEGE:
        advice = " Grant the role what the message names."
        if " role" in reason:
            advice = _ROLES_ADVICE
    return ConfigurationProblem(
        f"Migrating the database failed: {reason}.{advice} The revision that failed was undone; those before it stay."
    )
