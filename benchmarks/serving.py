"""The real server as a process of its own, on a store's database."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx
import psutil  # type: ignore[import-untyped]

from benchmarks.store import Store

_START_SECONDS = 120.0
_POLL_SECONDS = 0.02
_MB = 1024 * 1024


class ServerDiedError(Exception):
    """It ended before it was ready; the message is the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """``starting_seconds`` is from the start of the process until ``/health/ready`` answered 200."""

    url: str
    pid: int
    starting_seconds: float

    @property
    def resident_mb(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss) / _MB


@asynccontextmanager
async def serving(store: Store) -> AsyncIterator[Server]:
    """A server on the store, with default settings otherwise."""
    async with _running({"ENGRAM_DATABASE_URL": store.url}) as server:
        yield server


@asynccontextmanager
async def serving_from(data_dir: str) -> AsyncIterator[Server]:
    """A server with an embedded Postgres in that folder, which it starts, and makes where there is none."""
    async with _running({"ENGRAM_DATA_DIR": data_dir}) as server:
        yield server


@asynccontextmanager
async def serving_as(environment: Mapping[str, str], *, log: Path) -> AsyncIterator[Server]:
    """A server with these settings, whose log goes to a file that is made anew."""
    with log.open("wb") as file:
        async with _running(environment, file) as server:
            yield server


@asynccontextmanager
async def _running(environment: Mapping[str, str], log: IO[bytes] | None = None) -> AsyncIterator[Server]:
    url = f"http://127.0.0.1:{_free_port()}"
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "engram.cli", "serve", "--port", url.rpartition(":")[2]),
        env={**os.environ, "ENGRAM_LOG_LEVEL": "warning", **environment},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=log or asyncio.subprocess.DEVNULL,
    )
    try:
        await _ready(url, process, started + _START_SECONDS)
        yield Server(url, process.pid, time.perf_counter() - started)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _ready(url: str, process: asyncio.subprocess.Process, deadline: float) -> None:
    async with httpx.AsyncClient() as client:
        while True:
            if process.returncode is not None:
                raise ServerDiedError(f"The server ended with status {process.returncode}: try engram serve.")
            try:
                if (await client.get(f"{url}/health/ready")).is_success:
                    return
            except httpx.TransportError:
                if time.perf_counter() > deadline:
                    raise
            await asyncio.sleep(_POLL_SECONDS)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
