"""An embedding provider that speaks OpenAI's API, and fails when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from enum import StrEnum

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from benchmarks.reliability.vectors import DIMENSION, vector_of

MODEL = "words-of-the-benchmark"

_SILENCE_SECONDS = 60.0


class Mood(StrEnum):
    well = "answers"
    broken = "answers 500"
    busy = "answers 429"
    silent = "does not answer"


FAILING = (Mood.broken, Mood.silent, Mood.busy)


class Provider:
    """``mood`` is how it answers from now on, also those who wait already."""

    def __init__(self) -> None:
        self.url = ""
        self._mood = Mood.well
        self._changed = asyncio.Event()

    @property
    def mood(self) -> Mood:
        return self._mood

    @mood.setter
    def mood(self, mood: Mood) -> None:
        self._mood = mood
        self._changed.set()
        self._changed = asyncio.Event()

    async def answer(self, request: Request) -> Response:
        texts = (await request.json())["input"]
        if self._mood is Mood.silent:
            # Until the mood changes: the server under test has given up long before, or has its answer late.
            await asyncio.wait([asyncio.create_task(self._changed.wait())], timeout=_SILENCE_SECONDS)
        if self._mood is Mood.busy:
            return _refusal(429, {"Retry-After": "1"})
        if self._mood is not Mood.well:
            return _refusal(500, {})
        items = [
            {"object": "embedding", "index": number, "embedding": vector_of(text)} for number, text in enumerate(texts)
        ]
        return JSONResponse({"object": "list", "model": MODEL, "data": items})

    def environment(self, timeout: float) -> dict[str, str]:
        """Settings of a server that asks this provider, and waits for it so many seconds."""
        return {
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_BASE_URL": self.url,
            "EMBEDDING_MODEL": MODEL,
            "EMBEDDING_DIMENSION": str(DIMENSION),
            "EMBEDDING_TIMEOUT": f"{timeout:g}",
            "EMBEDDING_MAX_RETRIES": "1",
        }


@asynccontextmanager
async def embedding_provider() -> AsyncIterator[Provider]:
    """A provider on a free port of this machine, in this process, that answers well until told otherwise."""
    provider = Provider()
    app = Starlette(routes=[Route("/v1/embeddings", provider.answer, methods=["POST"])])
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1)
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 (uvicorn has no event for it)
            await asyncio.sleep(0.01)
        if serving.done():
            serving.result()
        provider.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
        yield provider
    finally:
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()  # signals are for the benchmark, which ends all it has started


def _refusal(status: int, headers: dict[str, str]) -> Response:
    error = {"message": "told to fail", "type": "error", "code": None}
    return JSONResponse({"error": error}, status_code=status, headers=headers)
