"""A network that swallows packets: connections that look open and lead nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import Database, driver
from engram.problems import UnavailableProblem
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

    def announce_end(self) -> None:
        """All clients hear from the server that it shuts down, which leaves the connections open for the moment."""
        for client in self._clients:
            client.write(_said(b"N", b"WARNING", b"01000") + _said(b"E", b"FATAL", b"57P01"))

    async def close(self) -> None:
        self.swallow()
        self._server.close()
        for client in self._clients:
            client.transport.abort()


def _said(kind: bytes, severity: bytes, state: bytes) -> bytes:
    """A notice or an error as it goes over the wire."""
    fields = b"".join(part + b"\0" for part in (b"S" + severity, b"V" + severity, b"C" + state, b"Mending", b""))
    return kind + (4 + len(fields)).to_bytes(4, "big") + fields


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    query = parse_qs(urlsplit(database_url).query)
    proxy = Proxy(Path(query["host"][0]) / f".s.PGSQL.{query['port'][0]}")
    yield proxy
    await proxy.close()


async def connect(proxy: Proxy, database_url: str, make_settings: Callable[..., Settings]) -> Database:
    name = urlsplit(database_url).path
    dsn = f"postgresql://postgres@127.0.0.1:{await proxy.listen()}{name}?sslmode=disable"
    return await Database.connect(dsn, make_settings(dsn, pool_size=2, connect_timeout=5))


async def announce_end(proxy: Proxy, *connections: asyncpg.Connection) -> None:
    """Have the proxy do so, and wait until these connections have heard it."""
    heard = [asyncio.Event() for _ in connections]
    for connection, event in zip(connections, heard, strict=True):
        connection.add_log_listener(lambda *_, event=event: event.set())
    proxy.announce_end()
    async with asyncio.timeout(10):
        for event in heard:
            await event.wait()
    assert not any(connection.is_closed() for connection in connections)


async def test_once_one_connection_proved_dead_no_older_one_is_trusted(
    proxy: Proxy, database_url: str, make_settings: Callable[..., Settings]
) -> None:
    database = await connect(proxy, database_url, make_settings)
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


WAYS: dict[str, Callable[[asyncpg.Connection], Awaitable[object]]] = {
    "simple": lambda connection: connection.execute("SELECT 1"),
    "prepared": lambda connection: connection.fetchval("SELECT 1"),
    "copy": lambda connection: connection.copy_records_to_table("numbers", records=[(1,)], columns=["n"]),
}


@pytest.mark.parametrize("way", WAYS)
async def test_an_end_announced_inside_a_transaction_is_a_passing_failure(
    proxy: Proxy, database_url: str, make_settings: Callable[..., Settings], way: str
) -> None:
    database = await connect(proxy, database_url, make_settings)

    async def work() -> None:
        async with database.transaction() as connection:
            await driver(connection).execute("CREATE TABLE numbers (n int)")
            await WAYS[way](driver(connection))  # is prepared once, and fails in another place after that
            await announce_end(proxy, driver(connection))
            await WAYS[way](driver(connection))

    with pytest.raises(UnavailableProblem):
        await work()
    await database.ping()
    await database.close()


async def test_an_end_announced_before_the_commit_is_told_as_an_open_question(
    proxy: Proxy, database_url: str, make_settings: Callable[..., Settings]
) -> None:
    database = await connect(proxy, database_url, make_settings)
    with pytest.raises(UnavailableProblem, match="may or may not"):
        async with database.transaction() as connection:
            await announce_end(proxy, driver(connection))
    await database.ping()
    await database.close()


async def test_connections_whose_end_was_announced_while_they_were_idle_are_replaced(
    proxy: Proxy, database_url: str, make_settings: Callable[..., Settings]
) -> None:
    database = await connect(proxy, database_url, make_settings)
    async with database.snapshot() as first, database.snapshot() as second:
        idle = [driver(first), driver(second)]
    await announce_end(proxy, *idle)
    async with asyncio.timeout(10), database.snapshot(), database.snapshot() as connection:
        assert await driver(connection).fetchval("SELECT 1") == 1
    await database.close()


@pytest.mark.parametrize("way", ["simple", "prepared"])
async def test_a_question_asked_on_such_a_connection_is_asked_again_on_another(
    proxy: Proxy, database_url: str, make_settings: Callable[..., Settings], way: str
) -> None:
    database = await connect(proxy, database_url, make_settings)

    async def question(connection: AsyncConnection) -> asyncpg.Connection:
        await WAYS[way](driver(connection))
        return driver(connection)

    used = await database.ask(question)
    await announce_end(proxy, used)
    async with asyncio.timeout(10):
        other = await database.ask(question)
    assert used.is_closed()
    assert other is not used
    await database.close()
