"""Endpoints described as values, apart from who sends them and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import httpx
from pydantic import BaseModel

from engram.client._bodies import Source
from engram.wire import ResponseModel

T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)
M_co = TypeVar("M_co", bound=BaseModel, covariant=True)


class Sender(Protocol):
    """Sends a request and gives the answer as its model."""

    async def send(self, request: Request[M]) -> M: ...

    async def begin(self, request: Request[M]) -> httpx.Response:
        """The same for an answer that is read as it comes."""


class Operation(Protocol[T_co]):
    """Something the server can be asked to do, in one request or in several.

    ``perform`` is written once, as a coroutine. A blocking client runs it to its end without an event loop.
    """

    async def perform(self, sender: Sender) -> T_co: ...


@dataclass(frozen=True, slots=True)
class Request(Generic[M_co]):
    """One request and the model of its answer: the simplest operation.

    ``reads`` is set on a POST that changes nothing. ``expected`` names further statuses that bring an answer.
    """

    method: str
    path: str
    model: type[M_co]
    params: Mapping[str, object] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    reads: bool = False
    expected: frozenset[int] = frozenset()
    lines: Source | None = None
    """A body that is sent as it is read, in place of ``body``: once, as it cannot be read again."""

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.reads

    async def perform(self, sender: Sender) -> M_co:
        return await sender.send(self)


class Acknowledgement(ResponseModel):
    """An answer of which only the status counts. Its body may be empty."""


@dataclass(frozen=True, slots=True)
class Command:
    """An operation that has no result."""

    method: str
    path: str

    async def perform(self, sender: Sender) -> None:
        await sender.send(Request(self.method, self.path, Acknowledgement))


@dataclass(frozen=True, slots=True)
class Download:
    """An operation whose answer is read as it comes."""

    path: str
    params: Mapping[str, object] = field(default_factory=dict)

    async def perform(self, sender: Sender) -> httpx.Response:
        return await sender.begin(Request("GET", self.path, Acknowledgement, params=self.params))
