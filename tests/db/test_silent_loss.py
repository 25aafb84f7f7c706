"""A network that swallows packets: connections that look open and lead nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from engram.db.database import Database, driver
from engram.settings import Settings


class Proxy:
    """Forwards TCP connections to a server's socket, until told to keep them open and forward nothing."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._clients: list[asyncio.StreamWriter] = []
        self._pumps: set[asyncio.Task[None]] = set()

    async def listen(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._socket)
        self._clients.append(writer)
        for source, target in ((reader, to_server), (from_server, writer)):
            pump = asyncio.create_task(self._forward(source, target))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
        target.close()

    def swallow(self) -> None:
        """All connections so far go silent; new ones work."""
        for pump in self._pumps:
            pump.cancel()

    def reset(self, port: int) -> None:
        """The client at a port learns that its connection is gone."""
        for client in self._clients:
            if client.get_extra_info("peername")[1] == port:
                client.transport.abort()

    async def close(self) -> None:
        self.swallow()
        self._server.close()
        for client in self._clients:
            client.transport.abort()


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    query = parse_qs(urlsplit(database_url).query)
    proxy = Proxy(Path(query["host"][0]) / f".s.PGSQL.{query['port'][0]}")
    yield proxy
    await proxy.close()


async def test_once_one_connection_proved_dead_no_older_one_is_trusted(
    proxy: Proxy, database_url: str, make_settings: Callable[..., Settings]
) -> None:
    name = urlsplit(database_url).path
    dsn = f"postgresql://postgres@127.0.0.1:{await proxy.listen()}{name}?sslmode=disable"
    database = await Database.connect(dsn, make_settings(dsn, pool_size=2, connect_timeout=5))
    async with database.snapshot() as first, database.snapshot():
        port = driver(first)._transport.get_extra_info("sockname")[1]

    proxy.swallow()
    proxy.reset(port)
    await asyncio.sleep(0.1)
    # One of the two is known to be dead. The other is silent, and would be waited for in vain.
    await database.ping()
    async with asyncio.timeout(10), database.snapshot(), database.snapshot() as connection:
        assert await driver(connection).fetchval("SELECT 1") == 1
    await database.close()
