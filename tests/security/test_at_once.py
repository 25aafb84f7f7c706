"""A key that is made, ended or run out counts from that moment, in every process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from engram.db.database import Database, driver
from engram.http import access
from engram.problems import ConfigurationProblem
from engram.server.app import create_app
from engram.server.run import serve
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.authentication import Authenticator
from engram.tenants.keys import new_key as unknown_key
from engram.tenants.roles import Role
from engram.tenants.schemas import KeyCreate
from engram.tenants.service import OperatorService
from tests.fixtures.servers import LOCAL
from tests.fixtures.tenants import Tenant, bearer, new_key

from .test_who_gets_in import expire

REBOUND = "rebound.example"
"""A host that some page's name was made to be."""


@pytest.fixture
async def servers(settings: Settings, static_weights: None) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Two servers on one database that know nothing of each other."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(2):
            services = await stack.enter_async_context(open_services(settings))
            transport = httpx.ASGITransport(create_app(services=services))
            found.append(await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=LOCAL)))
        yield found


class TestAKeyThatIsEnded:
    @pytest.mark.parametrize("directly", [True, False], ids=["directly", "by the framework"])
    async def test_opens_nothing_for_a_body_that_came_slowly(
        self,
        servers: list[httpx.AsyncClient],
        operator: OperatorService,
        alder: Tenant,
        monkeypatch: pytest.MonkeyPatch,
        directly: bool,
    ) -> None:
        monkeypatch.setattr(access, "STALE_SECONDS", 0)
        key = await new_key(operator, alder.name, Role.writer)
        made = await servers[0].post("/v1/agents", json={"name": "clerk"}, headers=bearer(key))

        async def body() -> AsyncIterator[bytes]:
            yield b'{"name": '
            await operator.revoke(key)
            yield b'"slow"}'

        headers = {**bearer(key), "content-type": "application/json"}
        address = "/v1/agents" if directly else f"/v1/agents/{made.json()['id']}"
        answer = await servers[0].request("POST" if directly else "PATCH", address, content=body(), headers=headers)
        assert answer.status_code == 401
        names = [
            agent["name"] for agent in (await servers[0].get("/v1/agents", headers=alder.headers())).json()["data"]
        ]
        assert "slow" not in names

    async def test_opens_nothing_anywhere_while_requests_run(
        self, servers: list[httpx.AsyncClient], operator: OperatorService, alder: Tenant
    ) -> None:
        key = await new_key(operator, alder.name, Role.writer)
        ended = False
        wrong: list[str] = []
        passed, refused = [0, 0], [0, 0]
        busy = asyncio.Event()

        async def ask(at: int) -> None:
            number = 0
            while refused[at] < 20:
                number += 1
                began_after = ended
                if number % 2:
                    response = await servers[at].get("/v1/agents", headers=bearer(key))
                else:
                    body = {"name": f"agent {at} {number}"}
                    response = await servers[at].post("/v1/agents", json=body, headers=bearer(key))
                if response.status_code == 401:
                    refused[at] += 1
                else:
                    passed[at] += 1
                    if min(passed) >= 10:
                        busy.set()
                    if began_after:
                        wrong.append(response.text)

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for at in (0, 1):
                tasks.create_task(ask(at))
            await busy.wait()
            await operator.revoke(key[:15])
            ended = True
        assert wrong == []

    async def test_is_told_as_ended(
        self, servers: list[httpx.AsyncClient], operator: OperatorService, database: Database, alder: Tenant
    ) -> None:
        revoked, expired = [await new_key(operator, alder.name, Role.viewer) for _ in range(2)]
        for server in servers:
            for key in (revoked, expired):
                assert (await server.get("/v1/agents", headers=bearer(key))).status_code == 200
        await operator.revoke(revoked[:15])
        await expire(database, expired)
        for server in servers:
            for key, said in ((revoked, "revoked"), (expired, "expired")):
                response = await server.get("/v1/agents", headers=bearer(key))
                assert response.status_code == 401
                assert said in response.json()["detail"]
                assert key not in response.text

    async def test_runs_out_by_itself(
        self, servers: list[httpx.AsyncClient], operator: OperatorService, alder: Tenant
    ) -> None:
        ends = datetime.now(UTC) + timedelta(milliseconds=400)
        made = await operator.create_key(KeyCreate(tenant=alder.name, role=Role.viewer, expires_at=ends))
        while True:
            before = datetime.now(UTC)
            found = {(await server.get("/v1/agents", headers=bearer(made.key))).status_code for server in servers}
            # On the clock of the database, which is this machine's.
            assert found == {401} or before <= ends, found
            if found == {401}:
                break
        assert datetime.now(UTC) >= ends

    async def test_does_not_come_back_when_it_is_ended_again(
        self, servers: list[httpx.AsyncClient], operator: OperatorService, alder: Tenant
    ) -> None:
        key = await new_key(operator, alder.name, Role.viewer)
        for _ in range(2):
            await operator.revoke(key[:15])
            assert (await servers[0].get("/v1/agents", headers=bearer(key))).status_code == 401


class TestTheFirstKey:
    async def test_closes_every_server_at_once(
        self, servers: list[httpx.AsyncClient], operator: OperatorService
    ) -> None:
        for server in servers:
            assert (await server.get("/v1/agents")).status_code == 200
        await new_key(operator, "default", Role.viewer)
        for server in servers:
            response = await server.get("/v1/agents")
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer")
            assert (await server.post("/v1/agents", json={"name": "x"})).status_code == 401
            assert (await server.get("/metrics")).status_code == 401

    async def test_of_another_tenant_closes_them_too(self, servers: list[httpx.AsyncClient], alder: Tenant) -> None:
        for server in servers:
            assert (await server.get("/v1/agents")).status_code == 401

    async def test_leaves_them_closed_when_it_is_ended(
        self, servers: list[httpx.AsyncClient], operator: OperatorService
    ) -> None:
        key = await new_key(operator, "default", Role.admin)
        await operator.revoke(key[:15])
        for server in servers:
            assert (await server.get("/v1/agents")).status_code == 401
            assert (await server.get("/v1/agents", headers=bearer(key))).status_code == 401

    async def test_hides_how_much_work_is_owed_over_all_tenants(
        self, servers: list[httpx.AsyncClient], operator: OperatorService
    ) -> None:
        for server in servers:
            assert (await server.get("/health/ready")).json()["pending_links"] == 0
        await new_key(operator, "default", Role.admin)
        for server in servers:
            assert (await server.get("/health/ready")).json()["pending_links"] is None


class TestHosts:
    async def test_a_server_without_keys_answers_no_rebound_page_whatever_it_sends(
        self, servers: list[httpx.AsyncClient]
    ) -> None:
        for path in ("/v1/agents", "/metrics", "/health/ready", "/openapi.json"):
            for headers in ({}, {"authorization": ""}, {"authorization": "x"}, bearer(unknown_key())):
                response = await servers[0].get(path, headers={"host": REBOUND, **headers})
                assert response.status_code == 421, (path, headers)

    async def test_where_there_are_keys_the_key_decides_at_once(
        self, servers: list[httpx.AsyncClient], alder: Tenant
    ) -> None:
        """Also in a process that never heard of one."""
        for server, headers, status in ((servers[0], {}, 401), (servers[1], alder.headers(), 200)):
            response = await server.get("/v1/agents", headers={"host": REBOUND, **headers})
            assert response.status_code == status


class TestBinding:
    def test_a_server_without_keys_refuses_to_serve_others(self, settings: Settings, static_weights: None) -> None:
        with pytest.raises(ConfigurationProblem, match="no API keys"):
            serve(settings.model_copy(update={"host": "0.0.0.0", "port": 0}))


class TestLastUse:
    async def test_is_noted_for_keys_that_open_and_for_no_others(
        self, services: Services, database: Database, operator: OperatorService, alder: Tenant
    ) -> None:
        revoked = await new_key(operator, alder.name, Role.viewer)
        await operator.revoke(revoked[:15])
        before = datetime.now(UTC)
        transport = httpx.ASGITransport(create_app(services=services))
        async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as http:
            for key in (alder.keys[Role.viewer], revoked, unknown_key()):
                await http.get("/v1/agents", headers=bearer(key))
        assert set((await uses(operator)).values()) == {None}, "a read wrote something"
        await services.authenticator.note_use()
        used = await uses(operator)
        noted = used.pop(alder.keys[Role.viewer][:15])
        assert noted is not None
        assert before <= noted <= datetime.now(UTC)
        assert set(used.values()) == {None}

    async def test_reading_changes_no_row(self, services: Services, database: Database, alder: Tenant) -> None:
        async with database.transaction() as connection:
            # Whoever wrote to a key would wait for this, and run into the time limit.
            await driver(connection).execute("LOCK TABLE api_keys IN SHARE MODE")
            transport = httpx.ASGITransport(create_app(services=services))
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as http:
                response = await http.get("/v1/agents", headers=alder.headers(Role.viewer))
            assert response.status_code == 200

    async def test_a_later_use_is_not_overwritten_by_an_earlier_one(
        self, services: Services, operator: OperatorService, alder: Tenant
    ) -> None:
        """Each process writes its own uses down, in any order."""
        first, second = Authenticator(services.database), Authenticator(services.database)
        await first.scope_of(alder.keys[Role.viewer])
        await second.scope_of(alder.keys[Role.viewer])
        await second.note_use()
        latest = (await uses(operator))[alder.keys[Role.viewer][:15]]
        await first.note_use()
        assert (await uses(operator))[alder.keys[Role.viewer][:15]] == latest


async def uses(operator: OperatorService) -> dict[str, datetime | None]:
    return {key.prefix: key.last_used_at for key in await operator.keys(None)}
