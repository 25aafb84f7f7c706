"""Who gets a connection, and what becomes of one that nobody can be given."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest

from engram.server.workers import reception as module
from engram.server.workers.process import WorkerProcess
from engram.server.workers.reception import Reception


class Worker:
    """Takes so many connections, and then none."""

    def __init__(self, room: int = 100) -> None:
        self.room = room
        self.taken = 0

    def hand(self, connection: socket.socket) -> bool:
        connection.getpeername()
        if self.taken == self.room:
            return False
        self.taken += 1
        return True


def added(reception: Reception, worker: Worker) -> Worker:
    reception.add(cast(WorkerProcess, worker))
    return worker


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture
async def reception(listener: socket.socket) -> AsyncIterator[Reception]:
    open_ = Reception([listener])
    yield open_
    open_.close()


Clients = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


async def connect(listener: socket.socket, clients: int) -> Clients:
    """They stay connected while this is kept."""
    return [await asyncio.open_connection(*listener.getsockname()) for _ in range(clients)]


async def until(*workers: Worker, taken: int) -> None:
    async with asyncio.timeout(30):
        while sum(worker.taken for worker in workers) < taken:  # noqa: ASYNC110  # a socket sets no event
            await asyncio.sleep(0.005)


async def test_they_are_given_in_turn(reception: Reception, listener: socket.socket) -> None:
    workers = [added(reception, Worker()) for _ in range(3)]
    _clients = await connect(listener, 12)
    await until(*workers, taken=12)
    assert [worker.taken for worker in workers] == [4, 4, 4]


async def test_they_wait_until_there_is_a_worker(reception: Reception, listener: socket.socket) -> None:
    _early = await connect(listener, 3)
    await asyncio.sleep(0.05)
    first = added(reception, Worker())
    await until(first, taken=3)
    reception.remove(cast(WorkerProcess, first))
    _late = await connect(listener, 2)
    await asyncio.sleep(0.05)
    assert first.taken == 3
    second = added(reception, Worker())
    await until(second, taken=2)


async def test_one_that_has_no_room_is_passed_over(reception: Reception, listener: socket.socket) -> None:
    full, free = added(reception, Worker(room=1)), added(reception, Worker())
    _clients = await connect(listener, 6)
    await until(full, free, taken=6)
    assert (full.taken, free.taken) == (1, 5)


async def test_where_none_has_room_they_wait_and_none_is_lost(reception: Reception, listener: socket.socket) -> None:
    workers = [added(reception, Worker(room=2)) for _ in range(2)]
    clients = await connect(listener, 9)
    await until(*workers, taken=4)
    await asyncio.sleep(0.05)
    assert sum(worker.taken for worker in workers) == 4
    assert sum(reader.at_eof() for reader, _ in clients) == 4, "these workers hang up, and nobody else does"
    workers[0].room = 5
    await until(*workers, taken=7)
    workers[1].room = 100
    await until(*workers, taken=9)


async def test_for_want_of_descriptors_they_wait(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.05)

    class Exhausted:
        """A listener without descriptors for the first connections."""

        left = 2

        def __getattr__(self, name: str) -> Any:
            return getattr(listener, name)

        def accept(self) -> Any:
            self.left -= 1
            if self.left >= 0:
                raise OSError(errno.EMFILE, "Too many open files")
            return listener.accept()

    reception = Reception([cast(socket.socket, Exhausted())])
    worker = added(reception, Worker())
    _clients = await connect(listener, 1)
    await until(worker, taken=1)
    reception.close()


async def test_once_it_is_closed_who_comes_is_refused(reception: Reception, listener: socket.socket) -> None:
    added(reception, Worker())
    address = listener.getsockname()
    reception.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)
