"""Requests that change the same thing at once: some win, the others are told so, and nothing is left in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from uuid import uuid4

import httpx
import pytest


@pytest.fixture
async def agent_id(http: httpx.AsyncClient) -> str:
    return (await http.post("/v1/agents", json={"name": "clerk"})).json()["id"]


async def written(http: httpx.AsyncClient, agent_id: str, content: str) -> str:
    return (await http.post("/v1/memories", json={"agent_id": agent_id, "content": content})).json()["id"]


async def test_of_agents_that_take_one_name_at_once_one_gets_it(http: httpx.AsyncClient) -> None:
    agents = [(await http.post("/v1/agents", json={"name": f"agent {at}"})).json()["id"] for at in range(8)]
    answers = await asyncio.gather(*(http.patch(f"/v1/agents/{id}", json={"name": "chief"}) for id in agents))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 7}


async def test_agents_made_renamed_and_deleted_at_once_cause_no_failure(http: httpx.AsyncClient) -> None:
    for at in range(5):
        name, other = f"fleeting {at}", (await http.post("/v1/agents", json={"name": f"other {at}"})).json()["id"]

        async def make_and_delete(name: str = name) -> list[int]:
            made = await http.post("/v1/agents", json={"name": name})
            return [made.status_code, (await http.delete(f"/v1/agents/{made.json()['id']}")).status_code]

        *ended, renamed = await asyncio.gather(
            *(make_and_delete() for _ in range(6)), http.patch(f"/v1/agents/{other}", json={"name": name})
        )
        for made, deleted in ended:
            assert (made in (200, 201), deleted in (204, 404)) == (True, True)
        assert renamed.status_code in (200, 404, 409)


async def test_changes_of_different_fields_at_once_both_stay(http: httpx.AsyncClient, agent_id: str) -> None:
    for at in range(5):
        await asyncio.gather(
            http.patch(f"/v1/agents/{agent_id}", json={"name": f"name {at}"}),
            http.patch(f"/v1/agents/{agent_id}", json={"metadata": {"at": at}}),
        )
        agent = (await http.get(f"/v1/agents/{agent_id}")).json()
        assert (agent["name"], agent["metadata"]) == (f"name {at}", {"at": at})


async def test_a_memory_deleted_by_many_at_once_is_deleted_by_one(http: httpx.AsyncClient, agent_id: str) -> None:
    id = await written(http, agent_id, "going")
    answers = await asyncio.gather(*(http.delete(f"/v1/memories/{id}") for _ in range(8)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 404: 7}
    stats = (await http.get(f"/v1/agents/{agent_id}/stats")).json()
    assert stats["memories"] == 0


async def test_an_edge_to_a_memory_that_is_being_deleted_does_not_dangle(
    http: httpx.AsyncClient, agent_id: str
) -> None:
    kept = await written(http, agent_id, "kept")
    for at in range(8):
        going = await written(http, agent_id, f"going {at}")
        edge = {"source_id": kept, "target_id": going}
        answers = await asyncio.gather(
            *(http.post("/v1/graph/edges", json={**edge, "relation_type": kind}) for kind in ("causal", "supports")),
            http.delete(f"/v1/memories/{going}"),
        )
        assert {answer.status_code for answer in answers} <= {200, 201, 404}
    assert (await http.get(f"/v1/graph/edges?memory_id={kept}&relation_type=causal")).json()["data"] == []
    assert (await http.get(f"/v1/agents/{agent_id}/stats")).json()["edges"] == 0


async def test_pages_turned_while_others_write_and_delete_show_what_stayed_once(
    http: httpx.AsyncClient, agent_id: str
) -> None:
    stayed = {await written(http, agent_id, f"staying {at}") for at in range(20)}
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = (await http.get(f"/v1/memories?agent_id={agent_id}&limit=3{cursor and f'&cursor={cursor}'}")).json()
        seen += [memory["id"] for memory in page["data"]]
        cursor = page["next_cursor"]
        await written(http, agent_id, f"meanwhile {uuid4()}")
        # The one that the next page begins after.
        await http.delete(f"/v1/memories/{seen[-1]}")
    assert len(seen) == len(set(seen))
    assert set(seen) == stayed
