"""Who asks: requests with keys and without, and the audit log as an admin reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from engram.services import Services
from engram.tenants.roles import Role
from engram.tenants.schemas import KeyCreate, KeyCreated
from engram.tenants.service import OperatorService
from tests.fixtures.servers import LOCAL

Client = httpx.AsyncClient
WithKey = Callable[[str], Awaitable[Client]]
MakeKey = Callable[..., Awaitable[KeyCreated]]


@pytest.fixture
def operator(services: Services) -> OperatorService:
    return OperatorService(services.database)


@pytest.fixture
def make_key(operator: OperatorService) -> MakeKey:
    async def make(role: Role, **fields: Any) -> KeyCreated:
        return await operator.create_key(KeyCreate(role=role, **fields))

    return make


@pytest.fixture
async def with_key(app: FastAPI) -> AsyncIterator[WithKey]:
    """``await with_key(key)``: plain HTTP to ``app``, with that key."""
    async with AsyncExitStack() as stack:

        async def client(key: str) -> Client:
            headers = {"Authorization": f"Bearer {key}"}
            transport = httpx.ASGITransport(app)
            return await stack.enter_async_context(Client(transport=transport, base_url=LOCAL, headers=headers))

        yield client


async def events(client: Client, **params: Any) -> list[dict[str, Any]]:
    """All events that a client sees, the latest first, page by page."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get("/v1/audit", params={**params, **cursor})).raise_for_status().json()
        found += page["data"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
