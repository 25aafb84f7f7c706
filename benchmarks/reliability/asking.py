"""One client: the SDK without its own retries, with each answer noted as the server gave it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx

from benchmarks.reliability.access import Access
from benchmarks.reliability.samples import FAILURES, NO_ANSWER, OK, Kind, Sample
from engram import AsyncEngram
from engram.client import APIConnectionError, APIStatusError, EngramError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_PROBLEM = "application/problem+json"

Fault = Callable[[str], None]
"""Told of what should never be, in a sentence."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """``value`` is None where there was no success; ``gone`` says that the server answered 404."""

    sample: Sample
    value: T_co | None = None
    gone: bool = False
    retry_after: float | None = None

    @property
    def says_nothing_was_stored(self) -> bool:
        return self.sample.of_embedder


class Asker:
    """Asks, one request at a time."""

    def __init__(self, engram: AsyncEngram, wire: Wire, samples: list[Sample], fault: Fault) -> None:
        self.engram = engram
        self._wire = wire
        self._samples = samples
        self._fault = fault

    async def ask(self, kind: Kind, request: Awaitable[T], *, may_be_gone: bool = False) -> Answer[T]:
        """Wait for the answer, and note it. Errors that no failing dependency explains are faults."""
        self._wire.problem = None
        value, status, gone, retry_after = None, OK, False, None
        began = time.monotonic()
        try:
            value = await request
        except APIStatusError as error:
            gone = error.status_code == httpx.codes.NOT_FOUND and may_be_gone
            status = OK if gone else error.status_code
            retry_after = error.retry_after
            if not gone and status not in FAILURES:
                self._fault(f"{kind}: answered {error}")
        except APIConnectionError as error:
            status = NO_ANSWER
            self._fault(f"{kind}: no answer: {error}")
        except EngramError as error:
            status = httpx.codes.INTERNAL_SERVER_ERROR
            self._fault(f"{kind}: an answer that the SDK does not understand: {error}")
        problem = self._wire.problem or ""
        if status not in (OK, NO_ANSWER) and not problem:
            self._fault(f"{kind}: {status} came without a problem document")
        sample = Sample(kind, began, time.monotonic(), status, problem)
        self._samples.append(sample)
        return Answer(sample, value, gone, retry_after)


@dataclass(slots=True)
class Wire:
    """The type of the last problem document; None where the last answer was none."""

    problem: str | None = None

    async def note(self, response: httpx.Response) -> None:
        self.problem = None
        if response.is_error and response.headers.get("content-type", "").startswith(_PROBLEM):
            await response.aread()
            document = response.json()
            if document.get("status") == response.status_code and document.get("detail"):
                self.problem = str(document.get("type"))


@asynccontextmanager
async def asker(access: Access, samples: list[Sample], fault: Fault) -> AsyncIterator[Asker]:
    """A client with connections of its own, closed afterwards."""
    wire = Wire()
    async with (
        httpx.AsyncClient(event_hooks={"response": [wire.note]}) as http,
        AsyncEngram(access.url, api_key=access.key, http_client=http, max_retries=0) as engram,
    ):
        yield Asker(engram, wire, samples, fault)
