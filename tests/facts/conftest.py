"""An agent to have facts."""

from __future__ import annotations

import httpx
import pytest


@pytest.fixture
async def agent_id(http: httpx.AsyncClient) -> str:
    made = await http.post("/v1/agents", json={"name": "clerk"})
    id: str = made.raise_for_status().json()["id"]
    return id
