"""The database as its owner has it: who may change the schema, make indexes, and see every tenant.

A server needs that at its start, and an operator's commands do. Nothing that a request asks for runs so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import asyncpg
import structlog

from engram.db.database import Database, driver
from engram.db.dsn import parse_dsn
from engram.db.embedded import EmbeddedPostgres
from engram.db.identity import Identity, read_identity
from engram.db.migrate import migrate, revision_status
from engram.db.roles import SERVER_ROLE
from engram.problems import ConfigurationProblem
from engram.settings import Settings

log = structlog.get_logger(__name__)

WATCH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Urls:
    """Where the owner connects, and where a server does. They may be one: then each transaction gives up the owner's
    rights as it begins."""

    owner: str
    server: str


@asynccontextmanager
async def reachable(settings: Settings) -> AsyncIterator[Urls]:
    """The database that is configured; where none is, the embedded one, which runs for as long as this is open."""
    if settings.database_url is not None:
        server = settings.database_url.get_secret_value()
        owner = settings.owner_database_url.get_secret_value() if settings.owner_database_url is not None else server
        yield Urls(owner, server)
        return
    async with AsyncExitStack() as stack:
        postgres = await asyncio.to_thread(EmbeddedPostgres.start, settings.data_dir)
        stack.push_async_callback(asyncio.to_thread, postgres.stop)
        watch = asyncio.create_task(_keep_alive(postgres))
        stack.push_async_callback(asyncio.wait, [watch])
        stack.callback(watch.cancel)
        yield Urls(postgres.dsn, postgres.dsn_of(SERVER_ROLE))


@asynccontextmanager
async def opened_by_owner(urls: Urls, settings: Settings) -> AsyncIterator[Database]:
    """A pool of the owner's, on a database that is brought to the newest revision. Raises what ``migrate`` raises, and
    ConfigurationProblem for a login that owns nothing, and where the server's login leads to another database."""
    async with _owned(urls, settings) as database:
        await _prepare(database, urls, settings)
        yield database


@asynccontextmanager
async def opened_by_operator(urls: Urls, settings: Settings) -> AsyncIterator[Database]:
    """The same for a command: it makes what an empty database lacks, and changes no other.

    A server of an earlier version may be running on it. Raises ConfigurationProblem for one at another revision.
    """
    async with _owned(urls, settings) as database:
        status = await revision_status(database)
        if status.current is not None and not status.up_to_date:
            raise ConfigurationProblem(
                f"The database is at revision {status.current}, and this version works with {status.head}. Back it up, "
                "stop servers of the version before, and run engram migrate."
            )
        await _prepare(database, urls, settings)
        yield database


async def _prepare(owner: Database, urls: Urls, settings: Settings) -> None:
    await migrate(urls.owner, settings)
    if urls.owner != urls.server and settings.database_url is None:
        await _let_server_log_in(owner)


@asynccontextmanager
async def _owned(urls: Urls, settings: Settings) -> AsyncIterator[Database]:
    database = await Database.connect(urls.owner, settings)
    try:
        if urls.owner != urls.server and settings.database_url is not None:
            await _require_same_database(database, urls.server, settings)
        yield database
    except asyncpg.InsufficientPrivilegeError as error:
        login = parse_dsn(urls.owner).user or "of the database URL"
        raise ConfigurationProblem(
            f"The login {login} may not do this ({error}): it owns no tables. Set ENGRAM_OWNER_DATABASE_URL to the "
            "owner's URL."
        ) from error
    finally:
        await database.close()


async def _require_same_database(owner: Database, url: str, settings: Settings) -> None:
    server = await Database.connect(url, settings)
    try:
        ours, theirs = await _identity(owner), await _identity(server)
    finally:
        await server.close()
    if ours.is_another_than(theirs):
        raise ConfigurationProblem(
            f"ENGRAM_OWNER_DATABASE_URL leads to another database ({ours.name}) than ENGRAM_DATABASE_URL "
            f"({theirs.name})."
        )


async def _identity(database: Database) -> Identity:
    async with database.snapshot() as connection:
        return await read_identity(driver(connection))


async def _let_server_log_in(database: Database) -> None:
    """In a Postgres of our own, whose socket is for this user alone, a server needs no password."""
    async with database.transaction() as connection:
        if await driver(connection).fetchval("SELECT rolcanlogin FROM pg_roles WHERE rolname = $1", SERVER_ROLE):
            return
    try:
        async with database.transaction() as connection:
            await driver(connection).execute(f"ALTER ROLE {SERVER_ROLE} LOGIN")
    except asyncpg.InternalServerError:
        # "tuple concurrently updated": another process does the same in this moment.
        log.debug("the server's role is being changed by another process")


async def _keep_alive(postgres: EmbeddedPostgres) -> None:
    """Nobody else starts the embedded server again where it dies alone: it is killed for want of memory, say."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        try:
            if await asyncio.to_thread(postgres.revive):
                log.warning("the embedded Postgres had died and was started again")
        except Exception as error:
            log.warning("the embedded Postgres has died and does not start yet; trying again", error=str(error))
