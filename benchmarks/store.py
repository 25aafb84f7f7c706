"""Stores that are kept and reused: one database for each size, in one embedded Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import asyncpg
from pydantic import SecretStr
from sqlalchemy import make_url

from benchmarks.corpus import Corpus, Shape
from benchmarks.figures import Size
from engram.db.connection import open_connection
from engram.db.dsn import parse_dsn
from engram.db.embedded import EmbeddedPostgres
from engram.server.garbage import settled_heap
from engram.services import Services, open_services
from engram.settings import Settings

_COPY = "benchmark_copy_"


@dataclass(frozen=True, slots=True)
class Store:
    """A database of the product, its corpus, and the default settings on it."""

    size: Size
    url: str
    data_dir: Path
    corpus: Corpus

    @property
    def settings(self) -> Settings:
        return Settings(database_url=SecretStr(self.url), data_dir=self.data_dir)

    @asynccontextmanager
    async def services(self) -> AsyncIterator[Services]:
        """All that a server has, in this process."""
        async with open_services(self.settings) as services, settled_heap():
            yield services

    def numbers(self, agent: int) -> range:
        """Which memories of the corpus the agent of this number holds."""
        memories, agents = self.size.memories, self.size.agents
        return range(agent * memories // agents, (agent + 1) * memories // agents)

    def agent_name(self, agent: int) -> str:
        return f"agent-{agent:06d}"

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection with the product's own settings and codecs, outside its pool, and without its time limit."""
        connection = await open_connection(parse_dsn(self.url), connect_timeout=10, statement_timeout=None)
        try:
            yield connection
        finally:
            await connection.close()

    async def agent_ids(self) -> list[str]:
        """The agents of the store, in the order of their numbers."""
        async with self.connection() as connection:
            rows = await connection.fetch("SELECT id FROM agents WHERE name LIKE 'agent-%' ORDER BY name")
        return [str(row["id"]) for row in rows]


class Stores:
    """The stores of one Postgres."""

    def __init__(self, postgres: EmbeddedPostgres, data_dir: Path) -> None:
        self._dsn = postgres.dsn
        self._data_dir = data_dir

    async def open(self, size: Size, *, seed: int = 7) -> Store:
        """The store of this size, made where there is none; ``benchmarks.loading`` fills it."""
        name = f"benchmark_{size.memories}_{size.agents}" + (f"_seed_{seed}" if seed != Shape(1).seed else "")
        async with self._administrator() as connection:
            if not await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", name):
                await connection.execute(f"CREATE DATABASE {name}")
        return Store(size, self._url(name), self._data_dir, Corpus(Shape(size.memories, seed=seed)))

    @asynccontextmanager
    async def copy(self, store: Store) -> AsyncIterator[Store]:
        """A copy to write to, dropped afterwards. Nobody may be connected to the store."""
        original = make_url(store.url).database
        async with self._passing(f"TEMPLATE {original} STRATEGY FILE_COPY") as url:
            yield Store(store.size, url, store.data_dir, store.corpus)

    @asynccontextmanager
    async def fresh(self, size: Size) -> AsyncIterator[Store]:
        """An empty store that is to hold so much, dropped afterwards."""
        async with self._passing() as url:
            yield Store(size, url, self._data_dir, Corpus(Shape(size.memories)))

    async def tidy(self) -> None:
        """Drop the copies that a benchmark left which was killed; those in use are left alone."""
        async with self._administrator() as connection:
            rows = await connection.fetch("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", _COPY)
            for row in rows:
                with suppress(asyncpg.ObjectInUseError):
                    await connection.execute(f"DROP DATABASE {row['datname']}")

    @asynccontextmanager
    async def _passing(self, made: str = "") -> AsyncIterator[str]:
        """The URL of a database that is dropped afterwards."""
        name = f"{_COPY}{uuid4().hex}"
        async with self._administrator() as connection:
            await connection.execute(f"CREATE DATABASE {name} {made}")
        try:
            yield self._url(name)
        finally:
            async with self._administrator() as connection:
                await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @asynccontextmanager
    async def _administrator(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self._url("postgres"))
        try:
            yield connection
        finally:
            await connection.close()

    def _url(self, database: str) -> str:
        return make_url(self._dsn).set(database=database).render_as_string(hide_password=False)


@asynccontextmanager
async def open_stores(data_dir: Path) -> AsyncIterator[Stores]:
    """Start the Postgres in ``data_dir`` with the product's own settings, and stop it afterwards."""
    postgres = await asyncio.to_thread(EmbeddedPostgres.start, data_dir)
    try:
        stores = Stores(postgres, data_dir)
        await stores.tidy()
        yield stores
    finally:
        await asyncio.to_thread(postgres.stop)
