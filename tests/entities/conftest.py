"""An agent of each test's own, over HTTP, on a database that other tests write to as well."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram
from engram.client import AsyncAgentScope
from engram.services import Services
from tests.fixtures.servers import LOCAL, is_documented


@pytest.fixture
async def web(shared_services: Services) -> AsyncIterator[httpx.AsyncClient]:
    from engram.server.app import create_app

    transport = httpx.ASGITransport(create_app(services=shared_services))
    hooks: dict[str, Any] = {"response": [is_documented]}
    async with httpx.AsyncClient(transport=transport, base_url=LOCAL, event_hooks=hooks) as client:
        yield client


@pytest.fixture
async def client(web: httpx.AsyncClient) -> AsyncIterator[AsyncEngram]:
    async with AsyncEngram(LOCAL, http_client=web, max_retries=0) as client:
        yield client


@pytest.fixture
async def bot(client: AsyncEngram) -> AsyncAgentScope:
    """An agent that nothing was written to."""
    agent = await client.agents.create(f"bot {uuid4()}")
    return client.agent(agent.id)
