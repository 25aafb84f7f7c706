"""What memories declare of relations, and an ontology, on their way to another agent."""

from __future__ import annotations

from typing import Any

import httpx

from tests.transfer.files import exported, made_of, of_type


async def post(http: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    response = await http.post(path, json=body)
    assert response.is_success, response.text
    return dict(response.json())


async def triples(http: httpx.AsyncClient, agent_id: str) -> list[dict[str, Any]]:
    response = await http.get("/v1/facts/triples", params={"agent_id": agent_id})
    assert response.status_code == 200, response.text
    return list(response.json()["data"])


async def test_an_import_states_what_the_export_did(http: httpx.AsyncClient) -> None:
    agent_id = (await post(http, "/v1/agents", name="told"))["id"]
    response = await http.put(f"/v1/agents/{agent_id}/ontology", json={"verbs": {"owned_by": "one"}})
    assert response.status_code == 200, response.text
    ids = []
    for place, owner in (("London", "Anna"), ("Paris", "Bert")):
        relations = [["user", "lives_in", place], ["service", "owned_by", owner]]
        ids.append((await post(http, "/v1/memories", agent_id=agent_id, content=place, relations=relations))["id"])
    await http.delete(f"/v1/memories/{ids[0]}")
    await post(http, f"/v1/memories/{ids[0]}/restore")
    stated = await triples(http, agent_id)
    assert {line["object"] for line in stated} == {"london", "anna"}
    file = await exported(http, agent_id)
    assert [memory["relations"][0]["object"] for memory in of_type(file, "memory")] == ["London", "Paris"]
    other = await made_of(http, file, name="told again", ids="new")
    assert await triples(http, other) == stated
    response = await http.get(f"/v1/agents/{other}/ontology")
    assert response.json()["verbs"] == {"owned_by": "one"}


async def test_a_value_that_was_said_after_a_later_one_of_its_day_comes_along(http: httpx.AsyncClient) -> None:
    agent_id = (await post(http, "/v1/agents", name="said late"))["id"]
    first = (await post(http, "/v1/memories", agent_id=agent_id, content="They talked."))["id"]
    relations = [["user", "lives_in", "Rome"]]
    await post(http, "/v1/memories", agent_id=agent_id, content="They moved.", relations=relations)
    response = await http.patch(f"/v1/memories/{first}", json={"relations": [["user", "lives_in", "Oslo"]]})
    assert response.status_code == 200, response.text
    stated = await triples(http, agent_id)
    assert [line["object"] for line in stated] == ["oslo"]
    other = await made_of(http, await exported(http, agent_id), name="said late again", ids="new")
    assert await triples(http, other) == stated
