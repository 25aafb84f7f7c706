"""What two processes of one server ask of each other, over a pair of sockets that nobody else has.

Messages are pickled: both ends run the same code for the same user.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog

from engram.problems import Problem, UnavailableProblem
from engram.telemetry.errors import described

_LENGTH = struct.Struct(">I")

Answer = Callable[[str, Any], Awaitable[Any]]
"""From what is asked, and what is given with it, to the answer. A Problem that it raises is raised by ``ask``."""

log = structlog.get_logger(__name__)


class ChannelClosedError(Exception):
    """The process at the other end is gone, or has closed its end."""


@dataclass(frozen=True, slots=True)
class _Question:
    number: int
    asked: str
    given: Any


@dataclass(frozen=True, slots=True)
class _Reply:
    number: int
    answer: Any = None
    problem: Problem | None = None


class Channel:
    """One end of two; either asks, and both answer. ``run`` reads what comes, and has to be running meanwhile."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    async def over(cls, end: socket.socket, answer: Answer) -> Channel:
        """A channel over a socket, which is closed with it."""
        return cls(*await asyncio.open_connection(sock=end), answer)

    async def ask(self, asked: str, given: Any = None) -> Any:
        """The answer. Raises the Problem that came in its place, and ChannelClosedError where none will come."""
        if self._closed:
            raise ChannelClosedError
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(packed(_Question(number, asked, given)))
            return await future
        finally:
            self._waiting.pop(number, None)

    async def run(self) -> None:
        """Until the other end is closed, or says what cannot be understood: it may be of another version, where the
        package was replaced beside a running server."""
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                self._take(pickle.loads(await self._reader.readexactly(length)))  # noqa: S301  # our own process's
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception as error:
            log.error("workers.not_understood", error=described(error))
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        self._writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ChannelClosedError())

    def _take(self, message: _Question | _Reply) -> None:
        if isinstance(message, _Question):
            task = asyncio.create_task(self._reply(message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            return
        future = self._waiting.get(message.number)
        if future is None or future.done():
            return  # nobody waits any more
        if message.problem is not None:
            future.set_exception(message.problem)
        else:
            future.set_result(message.answer)

    async def _reply(self, question: _Question) -> None:
        try:
            reply = packed(_Reply(question.number, await self._answer(question.asked, question.given)))
        except Problem as problem:
            reply = packed(_Reply(question.number, problem=problem))
        except Exception as error:
            log.warning("workers.unanswered", asked=question.asked, error=described(error))
            failed = UnavailableProblem("Another process of the server failed.")
            reply = packed(_Reply(question.number, problem=failed))
        if not self._closed:
            self._writer.write(reply)


def packed(message: Any) -> bytes:
    """A message as it is sent, its length before it."""
    content = pickle.dumps(message)
    return _LENGTH.pack(len(content)) + content


def read_first(end: socket.socket) -> Any:
    """The first message of a channel, waited for without a loop. Raises EOFError where the other end is closed."""
    (length,) = _LENGTH.unpack(_read(end, _LENGTH.size))
    return pickle.loads(_read(end, length))  # noqa: S301  # our own process's


def _read(end: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        piece = end.recv(length - len(content))
        if not piece:
            raise EOFError
        content += piece
    return content
