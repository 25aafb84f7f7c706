"""What users of memory servers were hurt by, sent to this one."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from engram import AsyncEngram, UnprocessableEntityError
from engram.agents.schemas import Agent


def unstorable(bad: str) -> list[tuple[str, dict[str, Any]]]:
    """Memories that hold it somewhere, by the field that is to blame."""
    return [
        ("content", {"content": bad}),
        ("metadata", {"metadata": {"k": bad}}),
        ("metadata", {"metadata": {bad: "v"}}),
        ("metadata", {"metadata": {"k": [{"deep": bad}]}}),
        ("tags.1", {"tags": ["fine", bad]}),
        ("entities.0.name", {"entities": [bad]}),
        ("user_id", {"user_id": bad}),
        ("session_id", {"session_id": bad}),
        ("source", {"source": bad}),
    ]


def unaskable(bad: str) -> list[tuple[str, dict[str, Any]]]:
    """Recalls that hold it somewhere, by the field that is to blame."""
    return [
        ("query", {"query": bad}),
        ("user_id", {"user_id": bad}),
        ("tags", {"tags": [bad]}),
        ("metadata", {"metadata": {"k": bad}}),
        ("metadata", {"metadata": {bad: 1}}),
        ("metadata", {"metadata": {"k": {"contains": bad}}}),
        ("metadata", {"metadata": {"k": {bad: 1}}}),
    ]


@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b"], ids=["NUL", "surrogate"])
async def test_text_that_cannot_be_stored_is_refused_by_the_field_it_stands_in(
    engram: AsyncEngram, agent: Agent, bad: str
) -> None:
    for field, fields in unstorable(bad):
        memory = {"content": "x", **fields}
        with pytest.raises(UnprocessableEntityError) as caught:
            await engram.memories.create(agent.id, **memory)
        assert [error.field for error in caught.value.errors] == [field]
        with pytest.raises(UnprocessableEntityError) as caught:
            await engram.memories.create_many(agent.id, ["fine", memory])
        assert [error.field for error in caught.value.errors] == [f"items.1.{field}"]
    assert (await engram.agents.stats(agent.id)).memories == 0


@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b"], ids=["NUL", "surrogate"])
async def test_text_that_cannot_be_stored_cannot_be_asked_for_either(
    engram: AsyncEngram, agent: Agent, bad: str
) -> None:
    for field, fields in unaskable(bad):
        with pytest.raises(UnprocessableEntityError) as caught:
            await engram.memories.recall(agent.id, **{"query": "x", **fields})
        assert [error.field.partition(".")[0] for error in caught.value.errors] == [field]


ODD_QUERIES = (
    *("the of", "!!!", "`", "a&b | c:*", "'", "\\", "%", "_", "<->", "(((", "\u200bx", "🙂", "$1", "{}", "--"),
    *("a\nb\tc", "외환", "مرحبا", "e\u0301", "\u202eabc", "x" * 10_000),
)


async def test_an_odd_query_is_answered(engram: AsyncEngram, agent: Agent) -> None:
    written = {(await engram.memories.create(agent.id, f"something with {query} in it")).id for query in ODD_QUERIES}
    for query in ODD_QUERIES:
        answer = await engram.memories.recall(agent.id, query, top_k=200)
        assert {hit.id for hit in answer} <= written, query
        assert answer.results, query
        assert all(0 <= hit.score <= 1 for hit in answer), query


async def test_a_query_that_asks_nothing_or_too_much_is_refused(engram: AsyncEngram, agent: Agent) -> None:
    for query in ("", "   ", "\u200b", "\n\t", "\x07", " ".join(["word"] * 60_000)):
        with pytest.raises(UnprocessableEntityError) as caught:
            await engram.memories.recall(agent.id, query)
        assert [error.field for error in caught.value.errors] == ["query"]


async def test_a_query_of_many_words_is_answered(engram: AsyncEngram, agent: Agent) -> None:
    memory = await engram.memories.create(agent.id, "the needle")
    query = " ".join(f"hay{number}" for number in range(1200)) + " needle"
    answer = await engram.memories.recall(agent.id, query)
    assert [hit.id for hit in answer] == [memory.id]


RECALL_REFUSALS: list[tuple[str, dict[str, Any]]] = [
    *[("top_k", {"top_k": value}) for value in (0, -1, 201, 10**9, 10**400, 1.5, True, "many", None, [10])],
    *[("graph_weight", {"graph_weight": value}) for value in (-0.1, 1.1, 10**400, True, "much", None)],
    *[("max_hops", {"max_hops": value}) for value in (-1, 6, False)],
    *[("hop_penalty", {"hop_penalty": value}) for value in (-0.1, 1, False)],
    *[("min_score", {"min_score": value}) for value in (-1, 2, True)],
    *[
        (name, {name: value})
        for name in ("as_of", "valid_from", "valid_until")
        for value in ("yesterday", "March 2026", 1770000000, 1770000000000, 1.5, "", "2026-02-30", "10000-01-01", True)
    ],
    *[
        (name, {name: value})
        for name in ("user_id", "session_id")
        for value in ("", "  ", "\u200b", 7, [], {"in": []}, "x" * 257)
    ],
    *[("tags", {"tags": value}) for value in ("a", '["a"]', 7, {"nobody": ["a"]}, [""], ["  "], [["a"]], {"any": "a"})],
    *[
        ("metadata", {"metadata": value})
        for value in (
            {"tag": {"in": "abc"}},
            {"tag": {"near": 1}},
            {"tag": {}},
            {"age": {"gte": [1]}},
            {"age": {"exists": "yes"}},
            {"tag": {"contains": ["a"]}},
            {str(number): 1 for number in range(33)},
            "age=1",
            [1],
        )
    ],
    *[("relation_types", {"relation_types": value}) for value in ("causal", ["likes"], [""], [None])],
    *[("embedding", {"embedding": value}) for value in ([], [1.0], ["x"], "[1]", [None], [10**400], [True] * 256)],
    *[("agent_id", {"agent_id": value}) for value in ("", "  ", "all", "*", None, 1, [], "0" * 10_000)],
    ("filter", {"filter": {"user_sub": "other"}}),
    ("tenant_id", {"tenant_id": "00000000-0000-7000-8000-000000000002"}),
]


async def test_a_recall_that_cannot_be_meant_is_refused_by_name(http: httpx.AsyncClient, agent: Agent) -> None:
    for field, wrong in RECALL_REFUSALS:
        response = await http.post("/v1/memories/recall", json={"agent_id": agent.id, "query": "x", **wrong})
        assert response.status_code == 422, f"{str(wrong)[:80]}: {response.text[:200]}"
        fields = {error["field"].partition(".")[0] for error in response.json()["errors"]}
        assert fields == {field}, f"{str(wrong)[:80]}: {response.text[:200]}"


MEMORY_REFUSALS: list[tuple[str, dict[str, Any]]] = [
    *[("content", {"content": value}) for value in ("", "  ", "\u200b\u2060", None, 7, ["x"], "x" * 2_000_001)],
    *[("confidence", {"confidence": value}) for value in (-0.1, 1.1, 10**400, True, "sure")],
    *[("tags", {"tags": value}) for value in ("a", '["a"]', {"a": 1}, [""], [7], ["x"] * 65)],
    *[("metadata", {"metadata": value}) for value in ("{}", [], None, {"n": 10**400})],
    *[("entities", {"entities": value}) for value in ("Alice", [""], [{"name": "A", "role": "boss"}], [7], ["x"] * 65)],
    *[("valid_from", {"valid_from": value}) for value in (0, 1770000000, "soon", "0000-01-01", "2026-01-01T25:00")],
    *[("embedding", {"embedding": value}) for value in ([], [0.1] * 3, [None] * 256, "x")],
    *[("id", {"id": "01890a5d-ac96-774b-bcce-b302099a8057"}), ("status", {"status": "deleted"}), ("key", {"key": "k"})],
]


async def test_a_memory_that_cannot_be_meant_is_refused_by_name(http: httpx.AsyncClient, agent: Agent) -> None:
    for field, wrong in MEMORY_REFUSALS:
        response = await http.post("/v1/memories", json={"agent_id": agent.id, "content": "x", **wrong})
        assert response.status_code == 422, f"{str(wrong)[:80]}: {response.text[:200]}"
        fields = {error["field"].partition(".")[0] for error in response.json()["errors"]}
        assert fields == {field}, f"{str(wrong)[:80]}: {response.text[:200]}"
    assert (await http.get(f"/v1/agents/{agent.id}/stats")).json()["memories"] == 0


async def test_a_window_that_ends_before_it_begins_is_refused(http: httpx.AsyncClient, agent: Agent) -> None:
    window = {"valid_from": "2026-02-01", "valid_until": "2026-01-01"}
    for path, text in (("/v1/memories", "content"), ("/v1/memories/recall", "query")):
        response = await http.post(path, json={"agent_id": agent.id, text: "x", **window})
        assert response.status_code == 422
        assert "valid_until" in response.json()["detail"]


async def test_nothing_is_done_without_an_agent(http: httpx.AsyncClient, agent: Agent) -> None:
    for path in ("/v1/memories", "/v1/memories/recall", "/v1/memories/batch"):
        response = await http.post(path, json={"content": "x", "query": "x", "items": [{"content": "x"}]})
        assert response.status_code == 422
        assert {"field": "agent_id", "message": "is required"} in response.json()["errors"]


async def test_an_empty_list_of_what_is_allowed_allows_nothing(engram: AsyncEngram, agent: Agent) -> None:
    await engram.memories.create(agent.id, "Alice moved", tags=["a"], metadata={"k": "v"})
    for nothing in (
        {"tags": []},
        {"tags": {"any": []}},
        {"metadata": {"k": {"in": []}}},
    ):
        assert list(await engram.memories.recall(agent.id, "Alice", **nothing)) == [], nothing


async def test_an_empty_list_of_relations_walks_nowhere(engram: AsyncEngram, agent: Agent) -> None:
    for text in ("Alice moved", "Rain all week"):
        await engram.memories.create(agent.id, text, session_id="s")
    answer = await engram.memories.recall(agent.id, "Alice", relation_types=[])
    assert [hit.path for hit in answer] == [[], []]


async def test_metadata_that_looks_like_a_scope_is_none(engram: AsyncEngram, agent: Agent) -> None:
    other = await engram.agents.create("another")
    metadata = {"user_id": "victim", "session_id": "victim", "agent_id": other.id, "tenant_id": "x", "tags": ["victim"]}
    memory = await engram.memories.create(agent.id, "Alice moved", user_id="me", metadata=metadata)
    assert (memory.user_id, memory.session_id, memory.agent_id, memory.metadata) == ("me", None, agent.id, metadata)
    assert list(await engram.memories.recall(agent.id, "Alice", user_id="victim")) == []
    assert list(await engram.memories.recall(other.id, "Alice")) == []
    assert [hit.id for hit in await engram.memories.recall(agent.id, "Alice", metadata=metadata)] == [memory.id]


async def test_a_filter_on_metadata_widens_no_scope(engram: AsyncEngram, agent: Agent) -> None:
    await engram.memories.create(agent.id, "Alice moved", user_id="other", metadata={"user_id": "me"})
    assert list(await engram.memories.recall(agent.id, "Alice", user_id="me", metadata={"user_id": "me"})) == []


async def test_all_operators_on_one_field_apply(engram: AsyncEngram, agent: Agent) -> None:
    for age in (2, 3, 8, 9):
        await engram.memories.create(agent.id, f"child of {age}", metadata={"age": age})
    answer = await engram.memories.recall(agent.id, "child", metadata={"age": {"gte": 3, "lt": 9}})
    assert {hit.metadata["age"] for hit in answer} == {3, 8}


async def test_keys_and_values_of_filters_are_only_data(engram: AsyncEngram, agent: Agent) -> None:
    texts = ("x'; drop table memories--", '"}]', "$1", "%", "\\", "a.b", "{x}", "' OR 1=1 --")
    for number, text in enumerate(texts):
        memory = await engram.memories.create(
            agent.id, f"Alice moved {number}", metadata={text: text}, tags=[text], user_id=text
        )
        for narrowed in (
            {"metadata": {text: text}},
            {"metadata": {text: {"in": [text]}}},
            {"metadata": {text: {"exists": True}}},
            {"metadata": {text: {"contains": text}}},
            {"tags": [text]},
            {"user_id": text},
        ):
            assert [hit.id for hit in await engram.memories.recall(agent.id, "Alice", **narrowed)] == [memory.id], text


async def test_a_time_without_an_offset_is_in_utc(engram: AsyncEngram, agent: Agent) -> None:
    memory = await engram.memories.create(agent.id, "Alice moved", valid_from="2024-01-05T00:00:00")
    for moment in (
        "2024-01-05T00:00:00",
        "2024-01-05T00:00:00Z",
        "2024-01-05t00:00:00z",
        "2024-01-05T02:00:00+02:00",
        "2024-01-05",
    ):
        assert [hit.id for hit in await engram.memories.recall(agent.id, "Alice", as_of=moment)] == [memory.id]
    for before in ("2024-01-04T23:59:59", "2024-01-05T00:00:00+00:01"):
        assert list(await engram.memories.recall(agent.id, "Alice", as_of=before)) == []


async def test_the_first_and_the_last_moment_can_be_used(engram: AsyncEngram, agent: Agent) -> None:
    first, last = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
    memory = await engram.memories.create(agent.id, "Alice moved", valid_from=first, valid_until=last)
    answer = await engram.memories.recall(agent.id, "Alice", as_of=first, valid_from=first, valid_until=last)
    assert [hit.id for hit in answer] == [memory.id]
    assert list(await engram.memories.recall(agent.id, "Alice", as_of=last)) == []


async def test_numbers_at_the_edges_come_back_as_they_were(engram: AsyncEngram, agent: Agent) -> None:
    numbers = {"big": 10**300, "small": 5e-324, "huge": 9.9e307, "long": 2**64, "one": 1.0}
    memory = await engram.memories.create(agent.id, "numbers", metadata=numbers)
    read = (await engram.memories.get(memory.id)).metadata
    assert {name: type(numbers[name])(value) for name, value in read.items()} == numbers


async def test_a_number_too_large_to_come_back_is_refused(http: httpx.AsyncClient, agent: Agent) -> None:
    for number in ("1e308", "-1.7976931348623157e308", "1" + "0" * 308):
        content = f'{{"agent_id": "{agent.id}", "content": "x", "metadata": {{"n": {number}}}}}'
        response = await http.post("/v1/memories", content=content, headers={"content-type": "application/json"})
        assert response.status_code == 422, number


async def test_a_long_text_is_stored_whole(engram: AsyncEngram, agent: Agent) -> None:
    text = "".join(f"Sentence number {number} about the harbour. " for number in range(5_000))
    memory = await engram.memories.create(agent.id, text)
    assert (await engram.memories.get(memory.id)).content == text
    assert [hit.id for hit in await engram.memories.recall(agent.id, "4999")] == [memory.id]
