"""Every operation of the document, asked by everybody who may not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from engram.db.database import Database, driver
from engram.services import Services
from engram.tenants.keys import new_key as unknown_key
from engram.tenants.roles import Role
from engram.tenants.service import OperatorService
from tests.fixtures.rows import every_row
from tests.fixtures.servers import LOCAL, is_documented
from tests.fixtures.tenants import Tenant, bearer, new_key

from .calls import Call, calls, guarded
from .worlds import NOTHING, World, new_world

REQUEST_ID = "x-request-id"


@pytest.fixture(params=["directly", "by the framework"])
async def http(app: FastAPI, request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """Both ways to an endpoint. Under a root path none is called directly."""
    root = "" if request.param == "directly" else "/elsewhere"
    transport = httpx.ASGITransport(app, root_path=root)
    async with httpx.AsyncClient(
        transport=transport, base_url=LOCAL, event_hooks={"response": [is_documented]}
    ) as client:
        yield client


@pytest.fixture
async def world(http: httpx.AsyncClient, alder: Tenant) -> World:
    return await new_world(http, alder, extra=0)


@asynccontextmanager
async def unchanged(database: Database) -> AsyncIterator[None]:
    """Fails where anything in the database is not what it was, written anew as it was, or gone."""
    before = await every_row(database)
    yield
    assert await every_row(database) == before


def malformed(key: str) -> Iterator[list[tuple[bytes, bytes]]]:
    """Headers from which no key can be had, though most have a good one in them."""
    good = key.encode()
    for value in (
        *(b"", b"Bearer", b"Bearer ", b"bearer\t", good, b"Token " + good, b"Basic " + good, b"Bearer=" + good),
        *(b"Bearer " + good + end for end in (b"\0", b"\n", b"\r\n", b" x", b"x", b",", b"\xa0", b"\xc2\x85", b"\v")),
        *(b"Bearer " + start + good for start in (b"\0", b"\n", b"x", b"Bearer ", b"\xef\xbb\xbf")),
        *("Bearer engram_ключ".encode(), b"Bearer " + good.upper(), b"Bearer " + good[:-1], b"Bearer\t" + good),
        *(b"Bearer engram_" + "é".encode("latin-1") * 43, b"Bearer " + b"x" * 5000),
    ):
        yield [(b"authorization", value)]
    yield [(b"authorization", b"Bearer " + good), (b"Authorization", b"Bearer " + good)]
    yield [(b"authorization", b""), (b"authorization", b"Bearer " + good)]


def bodies(call: Call) -> list[dict[str, Any]]:
    """The request as it should be, and with things in it that are refused, if anybody reads so far."""
    found: list[dict[str, Any]] = [{}, {"params": {**call.params, "no_such": "x"}}]
    if call.json is not None:
        found += [{"json": {"nonsense": 1}}, {"json": None, "content": b"{"}, {"json": None, "content": endless()}]
    return found


async def endless() -> AsyncIterator[bytes]:
    """More than any server takes, and of no length that is known before."""
    for _ in range(40):
        yield b" " * 1024 * 1024
    raise AssertionError("a body was read that nobody should have looked at")


def assert_refused(response: httpx.Response, status: int, key: str) -> None:
    assert response.status_code == status, (response.request.method, response.request.url, response.text)
    assert response.headers["content-type"] == "application/problem+json"
    assert ("www-authenticate" in response.headers) == (status == 401)
    assert key not in response.text


class TestWithoutAKeyThatOpens:
    async def test_nobody_gets_in(
        self, http: httpx.AsyncClient, world: World, database: Database, operator: OperatorService
    ) -> None:
        good = world.tenant.keys[Role.admin]
        revoked = await new_key(operator, world.tenant.name, Role.admin)
        await operator.revoke(revoked[:15])
        expired = await new_key(operator, world.tenant.name, Role.admin)
        await expire(database, expired)
        wrong: list[list[tuple[bytes, bytes]]] = [[], *malformed(good)]
        wrong += [[(b"authorization", f"Bearer {key}".encode())] for key in (unknown_key(), revoked, expired)]
        async with unchanged(database):
            for call in guarded(world.ids):
                for headers in wrong:
                    assert_refused(await call.send(http, headers), 401, good)

    async def test_nothing_is_read_of_what_they_bring(
        self, http: httpx.AsyncClient, world: World, database: Database
    ) -> None:
        async with unchanged(database):
            for call in guarded({**world.ids, "agent_id": "not-an-id", "memory_id": "not-an-id"}):
                for body in bodies(call):
                    assert_refused(await call.send(http, [], **body), 401, "engram_")

    async def test_addresses_that_show_nothing_are_open(self, http: httpx.AsyncClient, world: World) -> None:
        open_to_all = [call for call in calls(world.ids) if call.role is None]
        assert {call.operation for call in open_to_all} == {"live", "ready"}
        for call in open_to_all:
            for headers in ([], [(b"authorization", b"Bearer x")]):
                assert (await call.send(http, headers)).status_code == 200
        for path in ("/docs", "/docs/oauth2-redirect", "/openapi.json"):
            assert (await http.get(path)).status_code == 200

    async def test_no_key_opens_the_numbers_of_all_tenants(self, http: httpx.AsyncClient, world: World) -> None:
        for headers in ({}, *(world.tenant.headers(role) for role in Role)):
            assert_refused(await http.get("/metrics", headers=headers), 401, "engram_")

    async def test_a_good_key_opens_everything_however_its_scheme_is_written(
        self, http: httpx.AsyncClient, world: World
    ) -> None:
        """Or nothing of the above would mean anything."""
        key = world.tenant.keys[Role.admin]
        for scheme in ("Bearer", "bearer", "BEARER", "Bearer  "):
            response = await http.get("/v1/agents", headers={"authorization": f"{scheme} {key}"})
            assert response.status_code == 200
        for call in guarded(world.ids):
            response = await call.send(http, world.tenant.headers())
            assert response.is_success, (call.operation, response.text)


class TestWithALesserRole:
    async def test_it_is_refused_and_changes_nothing(
        self, http: httpx.AsyncClient, world: World, database: Database
    ) -> None:
        refused = [
            (call, role)
            for call in guarded(world.ids)
            for role in Role
            if call.role is not None and not role.may(call.role)
        ]
        assert {role for _, role in refused} == {Role.viewer, Role.writer}
        async with unchanged(database):
            for call, role in refused:
                for body in bodies(call):
                    assert_refused(
                        await call.send(http, world.tenant.headers(role), **body), 403, world.tenant.keys[role]
                    )

    @pytest.mark.parametrize("role", Role)
    async def test_what_a_role_may_do_it_can_do(self, http: httpx.AsyncClient, world: World, role: Role) -> None:
        for call in guarded(world.ids):
            if call.role is not None and role.may(call.role):
                response = await call.send(http, world.tenant.headers(role))
                assert response.is_success, (call.operation, response.text)


def told_alike(response: httpx.Response, ids: dict[str, str]) -> tuple[object, ...]:
    """All of an answer but the ids that were asked for and the number of the request."""
    text = response.text
    for id in ids.values():
        text = text.replace(id, "ID")
    headers = sorted((name, value) for name, value in response.headers.items() if name != REQUEST_ID)
    return response.status_code, headers, text


class TestWithAKeyToSomethingElse:
    """What belongs to others is told as what is nowhere, in every byte."""

    async def test_of_another_tenant(
        self, http: httpx.AsyncClient, world: World, birch: Tenant, database: Database
    ) -> None:
        async with unchanged(database):
            await self.assert_nowhere(http, dict(world.ids), birch.headers())

    async def test_of_another_agent(
        self, http: httpx.AsyncClient, world: World, operator: OperatorService, database: Database
    ) -> None:
        key = await new_key(operator, world.tenant.name, Role.admin, world.ids["agent_id"])
        async with unchanged(database):
            await self.assert_nowhere(http, dict(world.other_ids), bearer(key))

    @staticmethod
    async def assert_nowhere(http: httpx.AsyncClient, ids: dict[str, str], headers: dict[str, str]) -> None:
        for theirs, nowhere in zip(guarded(ids), guarded(NOTHING), strict=True):
            if not theirs.ids:
                continue
            answer = await theirs.send(http, headers)
            assert told_alike(answer, ids) == told_alike(await nowhere.send(http, headers), NOTHING)
            if theirs.operation == "list_audit":
                assert answer.json() == {"data": [], "next_cursor": None}
            else:
                assert answer.status_code == 404, theirs.operation

    @pytest.mark.parametrize("own", ["source_id", "target_id"])
    async def test_at_one_end_of_an_edge(
        self, http: httpx.AsyncClient, world: World, birch: Tenant, database: Database, own: str
    ) -> None:
        mine = await new_world(http, birch, extra=0)
        async with unchanged(database):
            for operation in ("create_edge", "delete_edge"):
                answers = []
                for others in (world.ids, NOTHING):
                    ids = {**others, own: mine.ids[own]}
                    (call,) = [call for call in guarded(ids) if call.operation == operation]
                    answer = await call.send(http, birch.headers())
                    assert answer.status_code == 404
                    answers.append(told_alike(answer, ids))
                assert answers[0] == answers[1]

    async def test_a_key_to_one_agent_sees_that_alone(
        self, http: httpx.AsyncClient, world: World, operator: OperatorService, database: Database
    ) -> None:
        key = bearer(await new_key(operator, world.tenant.name, Role.admin, world.ids["agent_id"]))
        agent = world.ids["agent_id"]
        agents = (await http.get("/v1/agents", headers=key)).json()
        assert [found["id"] for found in agents["data"]] == [agent]
        second = {"name": f"{world.tenant.name} second"}
        assert (await http.get("/v1/agents", params=second, headers=key)).json()["data"] == []
        events = (await http.get("/v1/audit", params={"limit": 200}, headers=key)).json()["data"]
        assert {event["agent_id"] for event in events} == {agent}

    async def test_a_key_to_one_agent_learns_no_names_of_others(
        self, http: httpx.AsyncClient, world: World, operator: OperatorService, database: Database
    ) -> None:
        key = bearer(await new_key(operator, world.tenant.name, Role.admin, world.ids["agent_id"]))
        taken, free = f"{world.tenant.name} second", f"{world.tenant.name} fourth"
        async with unchanged(database):
            for method, path in (("POST", "/v1/agents"), ("PATCH", f"/v1/agents/{world.ids['agent_id']}")):
                answers = [await http.request(method, path, json={"name": name}, headers=key) for name in (taken, free)]
                assert {answer.status_code for answer in answers} == {403}
                assert answers[0].text == answers[1].text

    async def test_a_key_to_an_agent_that_is_gone_opens_nothing(
        self, http: httpx.AsyncClient, world: World, operator: OperatorService
    ) -> None:
        key = bearer(await new_key(operator, world.tenant.name, Role.admin, world.ids["agent_id"]))
        gone = await http.delete(f"/v1/agents/{world.ids['agent_id']}", headers=key)
        assert gone.status_code == 204
        name = "keeper"  # that of the agent that is gone: whoever made it anew would have another one
        assert (await http.post("/v1/agents", json={"name": name}, headers=key)).status_code == 403
        for call in guarded(world.ids):
            if call.ids and call.operation != "list_audit":
                assert (await call.send(http, key)).status_code == 404, call.operation


async def expire(database: Database, key: str) -> None:
    async with database.transaction() as connection:
        status = await driver(connection).execute(
            "UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE prefix = $1", key[:15]
        )
    assert status == "UPDATE 1"


async def test_errors_before_a_route_is_known_show_nothing(
    http: httpx.AsyncClient, world: World, services: Services
) -> None:
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("GET", f"/v1/agents/{world.ids['agent_id']}/nowhere", 404),
        ("PUT", f"/v1/agents/{world.ids['agent_id']}", 405),
        ("OPTIONS", "/v1/memories", 405),
        ("HEAD", "/v1/agents", 405),
    ):
        response = await http.request(method, path)
        assert response.status_code == status
        assert world.ids["agent_id"] not in response.text
        assert world.mark not in response.text
