"""What holds for every request."""

from __future__ import annotations

import logging
from uuid import uuid4

import asyncpg
import httpx
import pytest
import structlog
from fastapi import FastAPI

from engram import AsyncEngram, InternalServerError, NotFoundError
from engram.agents.schemas import Agent
from engram.db.embedded import EmbeddedPostgres
from engram.server.app import create_app
from engram.services import Services
from tests.fixtures.databases import administrator


async def test_every_answer_has_an_id_of_its_own(http: httpx.AsyncClient) -> None:
    addresses = ("/health/live", "/v1/agents", "/v1/agents?x=1", "/nowhere", "/v1/agents/x", "/openapi.json")
    ids = [(await http.get(address)).headers["x-request-id"] for address in addresses]
    assert len(set(ids)) == len(addresses)


async def test_a_sane_id_of_the_clients_is_kept(http: httpx.AsyncClient) -> None:
    response = await http.get("/health/live", headers={"x-request-id": "job-7:step.2_a"})
    assert response.headers["x-request-id"] == "job-7:step.2_a"


async def test_any_other_id_is_replaced(http: httpx.AsyncClient) -> None:
    for given in ("", "x" * 129, "a b", "a\tb", '"quoted"', "<b>", "é".encode("latin-1")):
        response = await http.get("/health/live", headers={"x-request-id": given})
        assert response.headers["x-request-id"].isascii()
        assert response.headers["x-request-id"] != given


async def test_the_sdk_tells_the_id_of_what_failed(engram: AsyncEngram) -> None:
    with pytest.raises(NotFoundError) as caught:
        await engram.agents.get(uuid4())
    assert caught.value.request_id


async def test_answers_are_not_kept_by_caches_nor_guessed_at(http: httpx.AsyncClient) -> None:
    for address in ("/v1/agents", "/nowhere"):
        headers = (await http.get(address)).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


class TestHosts:
    LOOPBACK = ("127.0.0.1", "127.0.0.1:8080", "127.1.2.3", "localhost", "LOCALHOST:80", "localhost.", "[::1]:8080")
    OTHERS = (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "10.0.0.1",
        "[::]",
        "",
        "@",
    )

    async def test_a_server_without_keys_answers_for_this_machine_alone(self, http: httpx.AsyncClient) -> None:
        for host in self.LOOPBACK:
            assert (await http.get("/v1/agents", headers={"host": host})).status_code == 200, host
        for host in self.OTHERS:
            response = await http.get("/v1/agents", headers={"host": host})
            assert (response.status_code, response.json()["type"]) == (421, "misdirected"), host

    async def test_a_request_for_another_host_changes_nothing(self, http: httpx.AsyncClient) -> None:
        await http.post("/v1/agents", json={"name": "x"}, headers={"host": "evil.example"})
        assert (await http.get("/v1/agents")).json()["data"] == []

    async def test_two_hosts_are_none(self, http: httpx.AsyncClient) -> None:
        response = await http.get("/v1/agents", headers=[("host", "localhost"), ("host", "localhost")])
        assert response.status_code == 421

    class TestWhereTheNetworkIsTrusted:
        @pytest.fixture
        def settings(self, settings):
            return settings.model_copy(update={"allowed_hosts": "memory.internal, other.internal"})

        async def test_a_named_host_will_do(self, http: httpx.AsyncClient) -> None:
            assert (await http.get("/v1/agents", headers={"host": "Memory.internal:8080"})).status_code == 200

        async def test_this_machine_still_does(self, http: httpx.AsyncClient) -> None:
            assert (await http.get("/v1/agents", headers={"host": "localhost"})).status_code == 200

        async def test_another_does_not(self, http: httpx.AsyncClient) -> None:
            assert (await http.get("/v1/agents", headers={"host": "evil.example"})).status_code == 421

    class TestWhereAnyHostWillDo:
        @pytest.fixture
        def settings(self, settings):
            return settings.model_copy(update={"allowed_hosts": "*", "insecure_bind": True})

        async def test_any_host_will_do(self, http: httpx.AsyncClient) -> None:
            assert (await http.get("/v1/agents", headers={"host": "whatever.example"})).status_code == 200


class TestUnforeseenFailures:
    @pytest.fixture
    async def broken(self, services: Services, agent: Agent, database_url: str) -> None:
        """A database in which something is not as the code expects."""
        connection = await asyncpg.connect(database_url)
        await connection.execute("ALTER TABLE agents RENAME COLUMN language TO sprache")
        await connection.close()

    @pytest.mark.usefixtures("broken")
    async def test_the_client_learns_an_id_and_nothing_of_the_inside(
        self, http: httpx.AsyncClient, agent: Agent
    ) -> None:
        response = await http.get(f"/v1/agents/{agent.id}")
        assert (response.status_code, response.json()["type"]) == (500, "internal-error")
        assert response.headers["x-request-id"] in response.json()["detail"]
        for inside in ("language", "sprache", "SELECT", "asyncpg", "Traceback"):
            assert inside not in response.text

    @pytest.mark.usefixtures("broken")
    async def test_the_log_has_the_failure_under_that_id(self, http: httpx.AsyncClient, agent: Agent) -> None:
        with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
            response = await http.get(f"/v1/agents/{agent.id}")
        (failure,) = [line for line in logs if line["log_level"] == "error"]
        assert failure["request_id"] == response.headers["x-request-id"]
        assert failure["exc_info"]

    @pytest.mark.usefixtures("broken")
    async def test_the_sdk_says_that_the_server_failed(self, engram: AsyncEngram, agent: Agent) -> None:
        with pytest.raises(InternalServerError) as caught:
            await engram.agents.get(agent.id)
        assert caught.value.status_code == 500


async def test_what_only_the_operator_can_mend_is_for_the_log(
    http: httpx.AsyncClient, database_url: str, postgres: EmbeddedPostgres
) -> None:
    name = database_url.rpartition("/")[2].partition("?")[0]
    async with administrator(postgres) as connection:
        await connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        with structlog.testing.capture_logs() as logs:
            response = await http.get("/v1/agents")
        await connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert (response.status_code, response.json()["type"]) == (503, "unavailable")
    assert name not in response.text
    assert name in str(logs)
    assert (await http.get("/v1/agents")).status_code == 200


async def test_the_log_tells_the_route_and_nothing_that_was_sent(http: httpx.AsyncClient, agent: Agent) -> None:
    with structlog.testing.capture_logs() as logs:
        await http.get("/v1/memories", params={"agent_id": agent.id, "user_id": "secret"})
        await http.post("/v1/memories/recall", json={"agent_id": agent.id, "query": "secret"})
        await http.get(f"/v1/memories/{uuid4()}")
        await http.get("/secret")
    lines = [(line["method"], line["route"], line["status"]) for line in logs if line["event"] == "request"]
    assert lines == [
        ("GET", "/v1/memories", 200),
        ("POST", "/v1/memories/recall", 200),
        ("GET", "/v1/memories/{memory_id}", 404),
        ("GET", "unknown", 404),
    ]
    assert "secret" not in str(logs)
    assert all(line["ms"] > 0 for line in logs if line["event"] == "request")


async def test_an_app_on_given_services_leaves_them_open(services: Services) -> None:
    app: FastAPI = create_app(services=services)
    async with app.router.lifespan_context(app):
        pass
    await services.database.ping()


def test_making_an_app_leaves_logging_alone(settings) -> None:
    before = (list(logging.getLogger().handlers), structlog.get_config())
    create_app(settings)
    assert (list(logging.getLogger().handlers), structlog.get_config()) == before
