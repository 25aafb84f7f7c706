"""An agent to be moved."""

from __future__ import annotations

import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")
