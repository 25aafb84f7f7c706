"""Both clients, driven alike."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from engram import AsyncEngram, Engram

from .answers import Handler

Drive = Callable[..., Any]


@pytest.fixture(params=["blocking", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    """``drive(server, use, **options)``: what ``use(client)`` gives, awaited by an asynchronous client."""

    def blocking(server: Handler, use: Callable[[Engram], Any], **options: Any) -> Any:
        with Engram(transport=httpx.MockTransport(server), **options) as client:
            return use(client)

    def asynchronous(server: Handler, use: Callable[[AsyncEngram], Awaitable[Any]], **options: Any) -> Any:
        async def main() -> Any:
            async with AsyncEngram(transport=httpx.MockTransport(server), **options) as client:
                result = use(client)
                return await result if inspect.isawaitable(result) else result

        return asyncio.run(main())

    return blocking if request.param == "blocking" else asynchronous


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that clients make, which take no time."""
    made: list[float] = []

    async def pause(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(time, "sleep", made.append)
    monkeypatch.setattr(asyncio, "sleep", pause)
    return made


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGRAM_BASE_URL", raising=False)
    monkeypatch.delenv("ENGRAM_API_KEY", raising=False)
