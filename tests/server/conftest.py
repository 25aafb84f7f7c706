"""An agent to work with, a place for a Postgres, and logs that can be read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.embedded import EmbeddedPostgres


@pytest.fixture(scope="session", autouse=True)
def _plain_tracebacks() -> None:
    """structlog's own show the variables of every frame, and take seconds over it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ]
    )


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Where an embedded Postgres may live. Not under ``tmp_path``: every run of pytest locks other users out there."""
    with tempfile.TemporaryDirectory(prefix="engram-tests-") as folder:
        data = Path(folder) / "data"
        yield data
        if (data / "postgres" / "postmaster.pid").exists():
            EmbeddedPostgres.start(data).stop()


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")
