"""Who changed what: one event for each change, made with it, and nothing of what memories say."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from engram.db.database import Database, driver
from engram.tenants.roles import Role
from engram.tenants.service import OperatorService
from tests.fixtures.rows import every_row

from .conftest import MakeKey, WithKey, events
from .writes import WRITES, expected, make_world, operations_that_write


def test_every_operation_that_writes_is_tried_here() -> None:
    assert operations_that_write() == set(WRITES)


@pytest.mark.parametrize("operation", WRITES)
async def test_a_change_leaves_one_event_of_the_key_that_made_it(
    operation: str, make_key: MakeKey, with_key: WithKey
) -> None:
    watcher = await with_key((await make_key(Role.admin)).key)
    key = await make_key(Role.admin, name="night shift")
    client = await with_key(key.key)
    world = await make_world(client)
    before = await events(watcher)
    client.headers["X-Request-ID"] = "night-42"
    answer = (await WRITES[operation](client, world)).raise_for_status()
    event, *rest = await events(watcher)
    assert rest == before
    wanted = expected(operation, world, answer)
    assert (event["action"], event["agent_id"], event["details"]) == (wanted.action, wanted.agent_id, wanted.details)
    assert event["targets"] == wanted.targets
    assert (event["actor"], event["key_id"], event["key_prefix"]) == ("key", key.id, key.prefix)
    assert event["request_id"] == "night-42"


@pytest.mark.parametrize("operation", WRITES)
async def test_without_keys_the_event_is_of_somebody_without_a_name(operation: str, http: httpx.AsyncClient) -> None:
    world = await make_world(http)
    answer = (await WRITES[operation](http, world)).raise_for_status()
    event = (await events(http))[0]
    assert event["action"] == expected(operation, world, answer).action
    assert (event["actor"], event["key_id"], event["key_prefix"]) == ("anonymous", None, None)
    assert event["request_id"] == answer.headers["X-Request-ID"]


async def test_what_an_operator_does_to_keys_and_tenants_is_noted(
    make_key: MakeKey, with_key: WithKey, operator: OperatorService
) -> None:
    tenant = await operator.create_tenant("acme")
    admin = await make_key(Role.admin, tenant="acme")
    viewer = await make_key(Role.viewer, tenant="acme")
    for _ in range(2):
        await operator.revoke(viewer.prefix)
    seen = await events(await with_key(admin.key))
    assert [(event["action"], event["targets"], event["details"]) for event in reversed(seen)] == [
        ("tenant.create", [tenant.id], {"name": "acme"}),
        ("key.create", [admin.id], {"prefix": admin.prefix, "role": "admin"}),
        ("key.create", [viewer.id], {"prefix": viewer.prefix, "role": "viewer"}),
        ("key.revoke", [viewer.id], {"prefix": viewer.prefix}),
    ]
    assert {(event["actor"], event["key_id"], event["request_id"]) for event in seen} == {("operator", None, None)}


async def test_what_changes_nothing_leaves_no_event(http: httpx.AsyncClient) -> None:
    world = await make_world(http)
    await http.post("/v1/agents", json={"name": "cook"})
    nobody = "01890a5d-ac96-774b-bcce-b302099a8057"
    before = await events(http)
    refused = [
        # What stands already.
        await http.post("/v1/agents", json={"name": "clerk"}),
        await http.patch(f"/v1/agents/{world.agent}", json={}),
        await http.post("/v1/memories", json={"agent_id": world.agent, "content": "The lease ends in May."}),
        await http.post(
            "/v1/memories/batch", json={"agent_id": world.agent, "items": [{"content": "The lease ends in May."}]}
        ),
        # What cannot be.
        await http.patch(f"/v1/agents/{world.agent}", json={"name": "cook"}),
        await http.patch(f"/v1/agents/{nobody}", json={"name": "x"}),
        await http.delete(f"/v1/agents/{nobody}"),
        await http.post("/v1/memories", json={"agent_id": nobody, "content": "x"}),
        await http.post("/v1/memories", json={"agent_id": world.agent, "content": " "}),
        await http.delete(f"/v1/memories/{nobody}"),
        await http.post(
            "/v1/graph/edges", json={"source_id": world.first, "target_id": nobody, "relation_type": "causal"}
        ),
        await http.delete(
            "/v1/graph/edges",
            params={"source_id": world.second, "target_id": world.first, "relation_type": "causal"},
        ),
        await http.post("/v1/facts", json={"agent_id": nobody, "subject": "x", "predicate": "y", "object": "z"}),
        await http.delete(f"/v1/facts/{world.deleted_fact}"),
        await http.post(f"/v1/facts/{world.fact}/restore"),
        await http.post("/v1/facts/merge", json={"agent_id": world.agent, "name": "Lisboa", "other": "lisbon"}),
        # What only reads.
        await http.post("/v1/facts/recall-graph", json={"agent_id": world.agent, "query": "Where is the office?"}),
        await http.post("/v1/memories/recall", json={"agent_id": world.agent, "query": "Where is the office?"}),
    ]
    statuses = [answer.status_code for answer in refused]
    assert statuses == [200, 200, 200, 201, 409, 404, 404, 404, 422, 404, 404, 404, 404, 404, 409, 409, 200, 200]
    assert await events(http) == before


@pytest.mark.parametrize("operation", WRITES)
async def test_what_cannot_be_noted_is_not_done(operation: str, http: httpx.AsyncClient, database: Database) -> None:
    world = await make_world(http)
    async with database.transaction() as connection:
        await driver(connection).execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse();
            """
        )
    before = await every_row(database)
    assert (await WRITES[operation](http, world)).status_code == 500
    assert await every_row(database) == before


def _sentinels(*names: str) -> dict[str, str]:
    return {name: f"sentinel-{name}-7f3a" for name in names}


async def test_no_event_holds_anything_that_a_memory_an_edge_or_a_question_says(http: httpx.AsyncClient) -> None:
    said = _sentinels(
        *("content", "key", "user", "session", "tag", "source", "metadata", "field", "subject", "entity", "label"),
        *("reason", "query", "agent-metadata", "agent-field", "predicate", "object", "alias"),
    )
    memory: dict[str, Any] = {
        "content": said["content"],
        "user_id": said["user"],
        "session_id": said["session"],
        "tags": [said["tag"]],
        "source": said["source"],
        "metadata": {said["field"]: said["metadata"]},
        "entities": [{"name": said["subject"], "role": "subject"}, said["entity"]],
    }
    secret = {said["agent-field"]: said["agent-metadata"]}
    agent = (await http.post("/v1/agents", json={"name": "clerk", "metadata": secret})).json()["id"]
    one = (await http.post("/v1/memories", json={"agent_id": agent, **memory})).raise_for_status().json()["id"]
    more = [{**memory, "content": f"{said['content']} {n}"} for n in range(2)]
    batch = await http.post("/v1/memories/batch", json={"agent_id": agent, "items": more})
    two = batch.raise_for_status().json()["results"][0]["id"]
    ends = {"source_id": one, "target_id": two, "relation_type": "causal"}
    labels = {"label": said["label"], "reason": said["reason"]}
    (await http.post("/v1/graph/edges", json={**ends, **labels})).raise_for_status()
    (await http.post("/v1/memories/recall", json={"agent_id": agent, "query": said["query"]})).raise_for_status()
    fact = {"subject": said["subject"], "predicate": said["predicate"], "object": said["object"]}
    owned = {"user_id": said["user"], "sources": [said["source"]]}
    stored = (await http.post("/v1/facts", json={"agent_id": agent, **fact, **owned})).raise_for_status().json()["id"]
    names = {"name": said["subject"], "other": said["alias"]}
    (await http.post("/v1/facts/merge", json={"agent_id": agent, **names})).raise_for_status()
    (await http.delete(f"/v1/facts/{stored}")).raise_for_status()
    (await http.delete("/v1/graph/edges", params=ends)).raise_for_status()
    (await http.delete(f"/v1/memories/{one}")).raise_for_status()
    (await http.patch(f"/v1/agents/{agent}", json={"metadata": {**secret, "floor": 4}})).raise_for_status()
    (await http.delete(f"/v1/agents/{agent}")).raise_for_status()
    noted = await events(http)
    assert len(noted) == 11
    assert "sentinel" not in str(noted)
