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
from engram.tenants.roles import Role
from engram.tenants.service import OperatorService
from tests.fixtures.servers import LOCAL, is_documented
from tests.fixtures.tenants import new_key


@pytest.fixture
async def web(shared_services: Services) -> AsyncIterator[httpx.AsyncClient]:
    from engram.server.app import create_app

    # Some of those tests make keys, and from then on nobody is let in without one.
    key = await new_key(OperatorService(shared_services.database), "default", Role.admin)
    transport = httpx.ASGITransport(create_app(services=shared_services))
    hooks: dict[str, Any] = {"response": [is_documented]}
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=transport, base_url=LOCAL, event_hooks=hooks, headers=headers) as client:
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
