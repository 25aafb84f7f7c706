"""Databases for as long as they are needed: an embedded Postgres of its own, and one database for each loaded set."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
from sqlalchemy import make_url

from engram.db.database import Database
from engram.db.embedded import EmbeddedPostgres
from engram.db.migrate import migrate
from engram.settings import Settings

# Nothing here has to survive a power cut.
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class ScratchDatabases:
    """A running Postgres whose database ``engram`` is migrated, empty, and copied for each that is asked for."""

    def __init__(self, postgres: EmbeddedPostgres, settings: Settings) -> None:
        self._postgres = postgres
        self._settings = settings

    @asynccontextmanager
    async def database(self) -> AsyncIterator[Database]:
        """A pool on a new database, which is dropped afterwards."""
        name = f"scratch_{uuid4().hex}"
        await self._administer(f"CREATE DATABASE {name} TEMPLATE engram STRATEGY FILE_COPY")
        try:
            database = await Database.connect(self._url(name), self._settings)
            try:
                yield database
            finally:
                await database.close()
        finally:
            await self._administer(f"DROP DATABASE {name} WITH (FORCE)")

    async def _administer(self, statement: str) -> None:
        connection = await asyncpg.connect(self._url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    def _url(self, name: str) -> str:
        return make_url(self._postgres.dsn).set(database=name).render_as_string(hide_password=False)


@asynccontextmanager
async def scratch_databases(folder: Path, settings: Settings) -> AsyncIterator[ScratchDatabases]:
    """Start Postgres in ``folder``, and stop it afterwards. Raises ConfigurationProblem where it does not start."""
    postgres = await asyncio.to_thread(EmbeddedPostgres.start, folder, _FAST)
    try:
        await migrate(postgres.dsn, settings)
        yield ScratchDatabases(postgres, settings)
    finally:
        await asyncio.to_thread(postgres.stop)
