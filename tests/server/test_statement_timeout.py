"""Statements that take too long."""

from __future__ import annotations

import asyncpg
import httpx
import pytest

from engram.agents.schemas import Agent
from engram.settings import Settings


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"statement_timeout": 0.3, "pool_size": 1})


async def test_one_is_given_up_and_its_connection_used_again(
    http: httpx.AsyncClient, agent: Agent, database_url: str
) -> None:
    connection = await asyncpg.connect(database_url)
    running = "SELECT pid, state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    before = await connection.fetch(f"{running} AND backend_type = 'client backend'")
    for method, path, body in (
        ("POST", "/v1/memories/recall", {"agent_id": agent.id, "query": "x"}),
        ("POST", "/v1/memories", {"agent_id": agent.id, "content": "x"}),
        ("GET", f"/v1/memories?agent_id={agent.id}", None),
    ):
        async with connection.transaction():
            await connection.execute("LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")
            response = await http.request(method, path, json=body)
        assert (response.status_code, response.json()["type"]) == (503, "unavailable"), path
        assert response.headers["retry-after"] == "1"
        assert "too long" in response.json()["detail"]
        # The pool has one connection: were it lost or in use, nobody would get another.
        response = await http.request(method, path, json=body)
        assert response.is_success, path
    assert await connection.fetch(f"{running} AND backend_type = 'client backend'") == before
    assert [row["state"] for row in before] == ["idle"]
    await connection.close()
