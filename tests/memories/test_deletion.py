"""Deleting by what memories are: exactly what matched, with a preview that says so before."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest

from engram import AsyncEngram, NotFoundError, UnprocessableEntityError
from engram.agents.schemas import Agent
from engram.audit.rows import Listing
from engram.memories import deletion
from engram.memories.schemas import MemoriesDelete
from engram.problems import NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space
from tests.memories.test_removal import held


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def left(engram: AsyncEngram, agent: Agent, **asked: Any) -> list[str]:
    return sorted([memory.content async for memory in engram.memories.list(agent.id, **asked)])


async def test_of_one_user_all_go_and_of_others_none(
    engram: AsyncEngram, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "BATCH", 3)
    await engram.memories.create_many(agent.id, [{"content": f"ada {at}", "user_id": "ada"} for at in range(10)])
    await engram.memories.create_many(agent.id, [{"content": f"bob {at}", "user_id": "bob"} for at in range(3)])
    other = await engram.agents.create("another")
    await engram.memories.create(other.id, "ada elsewhere", user_id="ada")
    await engram.memories.create(
        agent.id, "ada, ended", user_id="ada", valid_from="2020-01-01", valid_until="2021-01-01"
    )
    preview = await engram.memories.delete_many(agent.id, user_id="ada", dry_run=True)
    assert (preview.matched, preview.deleted, preview.remaining, preview.dry_run) == (11, 0, 11, True)
    assert len(preview.sample) == 11
    assert len(await left(engram, agent)) == 14
    done = await engram.memories.delete_many(agent.id, user_id="ada")
    assert (done.matched, done.deleted, done.remaining, done.dry_run, done.sample) == (11, 11, 0, False, [])
    assert await left(engram, agent) == ["bob 0", "bob 1", "bob 2"]
    assert await left(engram, other) == ["ada elsewhere"]
    assert sorted(hit.content for hit in await engram.memories.recall(agent.id, "ada", top_k=50)) == [
        "bob 0",
        "bob 1",
        "bob 2",
    ]
    assert len(await left(engram, agent, status="deleted")) == 11
    again = await engram.memories.delete_many(agent.id, user_id="ada")
    assert (again.matched, again.deleted, again.remaining) == (0, 0, 0)


async def test_a_limit_takes_the_first_to_arrive_and_says_how_many_are_left(engram: AsyncEngram, agent: Agent) -> None:
    written = [(await engram.memories.create(agent.id, f"note {at}", tags=["t"])).id for at in range(5)]
    preview = await engram.memories.delete_many(agent.id, tags=["t"], limit=2, dry_run=True)
    assert (preview.matched, preview.remaining, preview.sample) == (5, 5, written[:2])
    done = await engram.memories.delete_many(agent.id, tags=["t"], limit=2)
    assert (done.matched, done.deleted, done.remaining) == (5, 2, 3)
    assert await left(engram, agent) == ["note 2", "note 3", "note 4"]


WITHOUT_A_MEANING: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("", {"dry_run": True}),
    *[("", {"tags": tags}) for tags in ({}, {"all": []}, {"none": []})],
    ("", {"metadata": {}}),
    ("", {"as_of": "2026-01-01"}),
    ("", {"status": "current"}),
    ("", {"all": False}),
    ("", {"all": True, "user_id": "ada"}),
    ("user_id", {"user_id": ""}),
    ("user_id", {"user_id": "  "}),
    ("user_id", {"user_id": {"in": []}}),
    ("status", {"status": "deleted"}),
    ("known_at", {"known_at": "2026-01-01"}),
    ("tags", {"tags": "a"}),
    ("tags", {"tags": '["a"]'}),
    ("metadata", {"metadata": {"a": {"in": "abc"}}}),
    *[("limit", {"all": True, "limit": limit}) for limit in (0, -1, 10_001, 10**9, True, None)],
    ("filter", {"filter": {"user_sub": "other"}}),
]


async def test_a_deletion_that_cannot_be_meant_is_refused_and_deletes_nothing(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
) -> None:
    await engram.memories.create(agent.id, "kept", user_id="ada", tags=["a"])
    for field, wrong in WITHOUT_A_MEANING:
        response = await http.post("/v1/memories/delete", json={"agent_id": agent.id, **wrong})
        assert response.status_code == 422, wrong
        assert {error["field"].partition(".")[0] for error in response.json()["errors"]} == {field or "body"}, wrong
    with pytest.raises(NotFoundError):
        await engram.memories.delete_many("01890a5d-ac96-774b-bcce-b302099a8057", all=True)
    assert await left(engram, agent) == ["kept"]
    for nothing in ({"tags": []}, {"metadata": {"k": {"in": []}}}):
        assert (await engram.memories.delete_many(agent.id, **nothing)).matched == 0
    assert (await engram.memories.delete_many(agent.id, all=True)).deleted == 1


async def test_what_others_delete_meanwhile_is_no_error_and_counted_once(
    unlinked: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "BATCH", 7)
    space = await new_space(unlinked)
    vector = space.vector(1)
    written = ids(
        await space.remember_all(
            {"content": f"note {at} of Zyra", "tags": ["t"], "entities": ["Zyra"], "embedding": vector}
            for at in range(60)
        )
    )
    kept = await space.remember("kept, of Zyra", entities=["Zyra"], embedding=vector)

    async def delete_all() -> int:
        asked = MemoriesDelete(agent_id=space.agent_id, tags=["t"])
        answer = await space.services.memories.delete_many(DEFAULT_SCOPE, asked)
        assert answer.remaining == 0
        return answer.deleted

    async def delete_one(id: str) -> int:
        try:
            await space.forget(id)
        except NotFoundProblem:
            return 0
        return 1

    counts = await asyncio.gather(*(delete_all() for _ in range(4)), *(delete_one(id) for id in written[::-5]))
    assert sum(counts) == len(written)
    counted, stored = await held(space)
    assert counted == stored
    assert list(await space.hits("Zyra")) == [kept.id]
    assert (await space.stats()).memories == 1


async def test_a_deletion_is_noted_batch_by_batch(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "BATCH", 2)
    written = ids(await space.remember_all(["one", "two", "three"]))
    await space.services.memories.delete_many(DEFAULT_SCOPE, MemoriesDelete(agent_id=space.agent_id, all=True))
    listing = Listing(agent_id=UUID(space.agent_id), action="memory.delete", since=None, until=None)
    page = await space.services.audit.list(DEFAULT_SCOPE, listing, limit=50, cursor=None)
    assert sorted(target for event in page.data for target in event.targets) == sorted(written)
    assert [len(event.targets) for event in page.data] == [1, 2]


async def test_a_refusal_names_what_is_missing(engram: AsyncEngram, agent: Agent) -> None:
    with pytest.raises(UnprocessableEntityError, match="all: true"):
        await engram.memories.delete_many(agent.id)
