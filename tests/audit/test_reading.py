"""Who may read the audit log, what of it, and that nobody who asks can change it."""

from __future__ import annotations

from typing import Any

import asyncpg
import httpx
import pytest

from engram import AsyncEngram
from engram.db.database import Database, driver
from engram.services import Services
from engram.tenants.models import DEFAULT_TENANT_ID
from engram.tenants.roles import Role
from engram.tenants.service import OperatorService
from tests.fixtures.servers import LOCAL
from tests.fixtures.statistics import rows_read

from .conftest import MakeKey, WithKey, events
from .writes import make_world

CHANGES = (
    "UPDATE audit_log SET actor = 'operator'",
    "DELETE FROM audit_log",
    "TRUNCATE audit_log",
    "ALTER TABLE audit_log DISABLE ROW LEVEL SECURITY",
    "DROP TABLE audit_log",
)


@pytest.mark.parametrize("role", ["engram_reader", "engram_writer", "engram_admin", "engram_server"])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_servers_roles_cannot_change_what_was_noted(
    http: httpx.AsyncClient, database: Database, role: str, change: str
) -> None:
    await make_world(http)
    before = await events(http)
    setup = f"SET LOCAL ROLE {role}; SET LOCAL engram.tenant_id = '{DEFAULT_TENANT_ID}'"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with database.transaction(setup=setup) as connection:
            await driver(connection).execute(change)
    assert await events(http) == before


@pytest.mark.parametrize("role", [Role.viewer, Role.writer])
async def test_who_is_no_admin_reads_nothing(make_key: MakeKey, with_key: WithKey, role: Role) -> None:
    client = await with_key((await make_key(role)).key)
    answer = await client.get("/v1/audit")
    assert answer.status_code == 403
    assert answer.json()["type"] == "permission-denied"
    assert answer.json()["detail"] == f"This needs a key that is admin; this one is {role.value}."


async def test_a_key_for_one_agent_reads_what_was_done_to_it_and_nothing_else(
    make_key: MakeKey, with_key: WithKey
) -> None:
    everybody = await with_key((await make_key(Role.admin)).key)
    world = await make_world(everybody)
    cook = (await everybody.post("/v1/agents", json={"name": "cook"})).json()["id"]
    client = await with_key((await make_key(Role.admin, agent="clerk")).key)
    seen = await events(client)
    assert {event["agent_id"] for event in seen} == {world.agent}
    assert seen == await events(everybody, agent_id=world.agent)
    assert await events(client, agent_id=cook) == []


async def test_another_tenant_reads_nothing_of_it(
    make_key: MakeKey, with_key: WithKey, operator: OperatorService
) -> None:
    mine = await with_key((await make_key(Role.admin)).key)
    world = await make_world(mine)
    tenant = await operator.create_tenant("acme")
    theirs = await with_key((await make_key(Role.admin, tenant="acme")).key)
    seen = await events(theirs)
    assert [event["action"] for event in seen] == ["key.create", "tenant.create"]
    assert await events(theirs, agent_id=world.agent) == []
    assert tenant.id not in str(await events(mine))


async def test_pages_are_complete_and_stay_so_while_events_are_added(http: httpx.AsyncClient) -> None:
    await make_world(http)
    for number in range(4):
        await http.post("/v1/agents", json={"name": f"agent {number}"})
    before = await events(http)
    seen: list[dict[str, Any]] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = (await http.get("/v1/audit", params=params)).json()
        assert len(page["data"]) <= 2
        seen += page["data"]
        (await http.post("/v1/agents", json={"name": f"newcomer {len(seen)}"})).raise_for_status()
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert seen == before
    assert [event["id"] for event in seen] == sorted((event["id"] for event in seen), reverse=True)
    assert len(await events(http)) == len(before) + 6


async def test_events_can_be_chosen(http: httpx.AsyncClient) -> None:
    world = await make_world(http)
    await http.post("/v1/agents", json={"name": "cook"})
    every = await events(http)
    assert [event["action"] for event in every] == [
        *("agent.create", "fact.merge", "fact.delete", "fact.append"),
        *("edge.create", "memory.delete", "memory.create", "agent.create"),
    ]
    assert await events(http, agent_id=world.agent) == every[1:]
    assert await events(http, action="memory.create") == every[6:7]
    assert await events(http, action="memory.purge") == []
    merge = every[1]["recorded_at"]
    assert await events(http, since=merge) == every[:2]
    assert await events(http, until=merge) == every[2:]
    assert await events(http, since=merge, action="agent.create", limit=1) == every[:1]
    assert await events(http, since="2999-01-01") == []


async def test_a_time_is_found_without_reading_the_log_before_and_after_it(
    http: httpx.AsyncClient, services: Services
) -> None:
    async with services.database.transaction() as connection:
        # One event an hour; the milliseconds of a UUIDv7 are its first 48 bits.
        await driver(connection).execute(
            """
            INSERT INTO audit_log (tenant_id, id, recorded_at, actor, action, targets)
            SELECT $1, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('7', 20))::uuid, at,
                'anonymous', 'agent.create', '{}'
            FROM generate_series('2026-01-01Z'::timestamptz, '2026-12-31Z', '1 hour') AS at
            """,
            DEFAULT_TENANT_ID,
        )
        await driver(connection).execute("ANALYZE audit_log")
    before = await rows_read(services.database, "audit_log")
    found = await events(http, since="2026-06-01T00:00:00Z", until="2026-06-02T00:00:00Z", limit=200)
    assert [event["recorded_at"][:13] for event in found] == [f"2026-06-01T{hour:02}" for hour in reversed(range(24))]
    assert await rows_read(services.database, "audit_log") - before < 100
    assert len(await events(http, since="0001-01-01", until="2026-01-02", limit=200)) == 24
    assert len(await events(http, since="2026-12-31", until="9999-12-31T23:59:59Z", limit=200)) == 1


@pytest.mark.parametrize(
    "params",
    [
        {"agent_id": "clerk"},
        {"action": "memory.read"},
        {"since": "yesterday"},
        {"until": "1"},
        {"limit": 0},
        {"who": 1},
    ],
)
async def test_a_filter_that_cannot_be_is_refused_by_name(http: httpx.AsyncClient, params: dict[str, Any]) -> None:
    answer = await http.get("/v1/audit", params=params)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == list(params)


@pytest.mark.parametrize("cursor", ["x", "WyJ4Il0", "W10"])
async def test_a_cursor_that_is_none_is_refused(http: httpx.AsyncClient, cursor: str) -> None:
    answer = await http.get("/v1/audit", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "cursor")


async def test_the_client_pages_through_events_by_itself(engram: AsyncEngram, http: httpx.AsyncClient) -> None:
    world = await make_world(http)
    found = [event async for event in engram.audit.list(limit=1)]
    assert [event.model_dump(mode="json") for event in found] == await events(http)
    assert [event.action async for event in engram.audit.list(agent_id=world.agent, action="memory.create")] == [
        "memory.create"
    ]
    latest = await engram.audit.list(since=found[0].recorded_at)
    assert [event.id for event in latest.data] == [found[0].id]
    assert [event.id async for event in engram.audit.list(until=found[0].recorded_at)] == [
        event.id for event in found[1:]
    ]


async def test_a_revoked_admin_reads_nothing(make_key: MakeKey, with_key: WithKey, operator: OperatorService) -> None:
    key = await make_key(Role.admin)
    client = await with_key(key.key)
    assert (await client.get(f"{LOCAL}/v1/audit")).status_code == 200
    await operator.revoke(key.id)
    assert (await client.get(f"{LOCAL}/v1/audit")).status_code == 401
