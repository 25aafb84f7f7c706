"""An agent to work with, and logs that can be read."""

from __future__ import annotations

import pytest
import structlog

from engram import AsyncEngram
from engram.agents.schemas import Agent


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
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")
