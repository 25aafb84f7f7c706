"""The memory graph over HTTP."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from engram import AsyncEngram, NotFoundError, UnprocessableEntityError
from engram.agents.schemas import Agent


@pytest.fixture
async def three(engram: AsyncEngram, agent: Agent) -> list[str]:
    """Memories with nothing in common."""
    texts = ["Deployment of the ledger", "Coffee beans from Huila", "Violins in the attic"]
    return [(await engram.memories.create(agent.id, text)).id for text in texts]


async def test_an_edge_is_seen_from_either_end(engram: AsyncEngram, three: list[str]) -> None:
    cause, effect, _ = three
    made = await engram.graph.create_edge(cause, effect, "causal", weight=0.5, label="led_to", reason="said so")
    (seen,) = [edge async for edge in engram.graph.get_edges(cause)]
    assert seen == made
    assert (seen.target_memory_id, seen.direction, seen.weight, seen.label) == (effect, "out", 0.5, "led_to")
    (back,) = [edge async for edge in engram.graph.get_edges(effect)]
    assert (back.source_memory_id, back.target_memory_id, back.direction) == (effect, cause, "in")


async def test_edges_are_filtered_by_all_that_is_named(http: httpx.AsyncClient, three: list[str]) -> None:
    first, second, third = three
    for target, relation, weight in ((second, "causal", 0.9), (third, "supports", 0.4)):
        body = {"source_id": first, "target_id": target, "relation_type": relation, "weight": weight}
        assert (await http.post("/v1/graph/edges", json=body)).status_code == 201

    async def relations(query: str) -> list[str]:
        response = await http.get(f"/v1/graph/edges?memory_id={first}&{query}")
        return [edge["relation_type"] for edge in response.json()["data"]]

    assert await relations("") == ["causal", "supports"]
    assert await relations("direction=out&relation_type=supports") == ["supports"]
    assert await relations("relation_type=supports&relation_type=causal") == ["causal", "supports"]
    assert await relations("direction=in") == []
    assert await relations("min_weight=0.5") == ["causal"]
    assert await relations("as_of=2001-01-01T00:00:00Z") == []


async def test_edges_page_strongest_first(engram: AsyncEngram, three: list[str]) -> None:
    first, second, _ = three
    for relation, weight in (("causal", 0.2), ("supports", 0.9), ("derived_from", 0.5)):
        await engram.graph.create_edge(first, second, relation, weight=weight)
    assert [edge.weight async for edge in engram.graph.get_edges(first, limit=1)] == [0.9, 0.5, 0.2]


async def test_a_deleted_edge_is_gone(engram: AsyncEngram, three: list[str]) -> None:
    first, second, _ = three
    await engram.graph.create_edge(first, second, "causal")
    deleted = await engram.graph.delete_edge(first, second, "causal")
    assert (deleted.source_id, deleted.target_id, deleted.relation_type) == (first, second, "causal")
    assert [edge async for edge in engram.graph.get_edges(first)] == []
    with pytest.raises(NotFoundError, match="causal"):
        await engram.graph.delete_edge(first, second, "causal")


async def test_edges_stay_inside_an_agent(engram: AsyncEngram, three: list[str]) -> None:
    stranger = await engram.memories.create((await engram.agents.create("another")).id, "elsewhere")
    with pytest.raises(UnprocessableEntityError) as caught:
        await engram.graph.create_edge(three[0], stranger.id, "causal")
    assert [error.field for error in caught.value.errors] == ["target_id"]


async def test_an_edge_of_a_memory_to_itself_is_refused(engram: AsyncEngram, three: list[str]) -> None:
    with pytest.raises(UnprocessableEntityError, match="must differ"):
        await engram.graph.create_edge(three[0], three[0], "causal")


async def test_edges_of_unknown_memories_are_not_found(engram: AsyncEngram, three: list[str]) -> None:
    unknown = str(uuid4())
    with pytest.raises(NotFoundError, match=unknown):
        await engram.graph.create_edge(three[0], unknown, "causal")
    with pytest.raises(NotFoundError, match=unknown):
        await engram.graph.get_edges(unknown)


@pytest.mark.parametrize("missing", ["source_id", "target_id", "relation_type"])
async def test_deleting_an_edge_needs_the_whole_key(http: httpx.AsyncClient, three: list[str], missing: str) -> None:
    key = {"source_id": three[0], "target_id": three[1], "relation_type": "causal"}
    del key[missing]
    response = await http.delete("/v1/graph/edges", params=key)
    assert response.status_code == 422
    assert response.json()["errors"] == [{"field": missing, "message": "is required"}]
