"""Facts through both clients: what is sent, and what its answers are like."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from engram import AsyncEngram, Engram, UnprocessableEntityError
from engram.facts.schemas import FactItem

from .answers import AGENT, AGENT_ID, MEMORY_ID, NOW, OTHER_ID, Server

FACT = {
    "id": MEMORY_ID,
    "agent_id": AGENT_ID,
    "user_id": None,
    "subject": "Alice",
    "predicate": "works_at",
    "object": "Acme",
    "confidence": 1.0,
    "valid_from": NOW,
    "valid_until": None,
    "stated_until": None,
    "recorded_at": NOW,
    "updated_at": NOW,
    "sources": [],
    "supersede": True,
    "closed_by": None,
    "superseded_by": None,
    "status": "standing",
}
EDGE = {"subject": "alice", "predicate": "works_at", "object": "acme", "forward": True, "fact": FACT}
PATH = {"rendered": "alice —works_at→ acme", "nodes": ["alice", "acme"], "edges": [EDGE]}
MERGE = {"id": MEMORY_ID, "agent_id": AGENT_ID, "name": "Bob", "other": "Robert", "recorded_at": NOW, "undone_at": None}
BELIEF = {"recorded_at": NOW, "status": "standing", "valid_until": None, "closed_by": None, "superseded_by": None}
ANSWERS: dict[str, Any] = {
    "POST /v1/agents": AGENT,
    "POST /v1/facts": {**FACT, "closed": [OTHER_ID]},
    "GET /v1/facts": {"data": [FACT], "next_cursor": None},
    f"GET /v1/facts/{MEMORY_ID}": FACT,
    f"DELETE /v1/facts/{MEMORY_ID}": {**FACT, "status": "deleted", "changed": []},
    f"POST /v1/facts/{MEMORY_ID}/undo": {**FACT, "status": "undone", "changed": [OTHER_ID]},
    f"POST /v1/facts/{MEMORY_ID}/restore": {**FACT, "changed": []},
    f"GET /v1/facts/{MEMORY_ID}/history": {"fact": FACT, "beliefs": [BELIEF]},
    "POST /v1/facts/recall-graph": {"paths": [PATH], "memories": [], "truncated": False},
    "POST /v1/facts/merge": {**MERGE, "canonical": "bob"},
    "GET /v1/facts/merge": {"data": [MERGE], "next_cursor": None},
    f"DELETE /v1/facts/merge/{MEMORY_ID}": {**MERGE, "undone_at": NOW},
}


def routed(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=ANSWERS[f"{request.method} {request.url.path}"])


def appended(request: httpx.Request) -> httpx.Response:
    """Each call ends a fact from before, and the first item of the call before it."""
    items = json.loads(request.content)["items"]
    ids = [id_of(int(item["object"])) for item in items]
    earlier = id_of(max(int(items[0]["object"]) - 1000, 0))
    return httpx.Response(201, json={"ids": ids, "closed": [OTHER_ID, earlier]})


def id_of(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012d}"


def test_a_fact_is_sent_as_it_is_given(drive) -> None:
    server = Server(routed)
    began = datetime(2024, 1, 1, tzinfo=UTC)
    fact = drive(
        server, lambda c: c.facts.append(AGENT_ID, "Alice", "works_at", "Acme", valid_from=began, supersede=False)
    )
    assert server.body == {
        **{"agent_id": AGENT_ID, "subject": "Alice", "predicate": "works_at", "object": "Acme"},
        **{"valid_from": "2024-01-01T00:00:00+00:00", "supersede": False},
    }
    assert (fact.object, fact["object"], fact.closed) == ("Acme", "Acme", [OTHER_ID])


def test_a_scope_takes_the_triple_alone() -> None:
    server = Server(routed)
    scope = Engram(transport=httpx.MockTransport(server)).agent("support-bot")
    scope.facts.append("Alice", "works_at", "Acme")
    scope.facts.merge("Bob", "Robert")
    assert [fact.id for fact in scope.facts.query(subject="Alice")] == [MEMORY_ID]
    assert [merge.other for merge in scope.facts.merges()] == ["Robert"]
    scope.facts.recall_graph("where does alice's employer operate?", hops=3)
    bodies = [json.loads(request.content) for request in server.requests if request.method == "POST"]
    assert bodies == [
        {"name": "support-bot"},
        {"agent_id": AGENT_ID, "subject": "Alice", "predicate": "works_at", "object": "Acme"},
        {"agent_id": AGENT_ID, "name": "Bob", "other": "Robert"},
        {"agent_id": AGENT_ID, "query": "where does alice's employer operate?", "hops": 3},
    ]
    assert dict(server.requests[3].url.params) == {"agent_id": AGENT_ID, "subject": "Alice"}


def test_an_answer_is_its_paths(drive) -> None:
    server = Server(routed)
    answer = drive(server, lambda c: c.facts.recall_graph(AGENT_ID, "alice", user_id="u", known_at="2024-01-01"))
    assert [path.rendered for path in answer] == [path.render() for path in answer] == ["alice —works_at→ acme"]
    assert len(answer) == 1
    assert answer["paths"][0]["nodes"] == ["alice", "acme"]
    assert [fact.id for fact in answer.paths[0].facts] == [MEMORY_ID]
    # What only reads is no write to be known again.
    assert "idempotency-key" not in server.asked.headers


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda c: c.facts.get(MEMORY_ID), "standing"),
        (lambda c: c.facts.delete(MEMORY_ID), "deleted"),
        (lambda c: c.facts.undo(MEMORY_ID), "undone"),
        (lambda c: c.facts.restore(MEMORY_ID), "standing"),
        (lambda c: c.agent(AGENT_ID).facts.undo(MEMORY_ID), "undone"),
    ],
)
def test_one_fact_is_asked_for_and_changed(drive, use: Any, said: str) -> None:
    assert drive(Server(routed), use).status.value == said


def test_history_and_merges(drive) -> None:
    history = drive(Server(routed), lambda c: c.facts.history(MEMORY_ID))
    assert (history.fact.id, [belief.status.value for belief in history.beliefs]) == (MEMORY_ID, ["standing"])
    assert drive(Server(routed), lambda c: c.facts.merge(AGENT_ID, "Bob", "Robert")).canonical == "bob"
    assert drive(Server(routed), lambda c: c.facts.unmerge(MEMORY_ID)).undone_at is not None


def test_items_may_be_triples_dicts_and_models(drive) -> None:
    server = Server({"ids": [MEMORY_ID] * 3, "closed": []})
    triple = {"subject": "a", "predicate": "b", "object": "c"}
    items = [("a", "b", "c"), {**triple, "user_id": "u"}, FactItem(**triple, valid_from="2024-01-01")]
    drive(server, lambda c: c.facts.append_many(AGENT_ID, items))
    assert server.body["items"] == [
        triple,
        {**triple, "user_id": "u"},
        {**triple, "valid_from": "2024-01-01T00:00:00Z"},
    ]


def test_many_go_in_calls_of_a_thousand_and_their_answers_are_summed_up(drive) -> None:
    server = Server(appended)
    told: list[tuple[int, int]] = []
    items = [("s", "p", str(number)) for number in range(2500)]
    result = drive(server, lambda c: c.facts.append_many(AGENT_ID, items, progress=lambda *done: told.append(done)))
    assert [len(json.loads(request.content)["items"]) for request in server.requests] == [1000, 1000, 500]
    assert result.ids == [id_of(number) for number in range(2500)]
    # What one call ended of another was not there before.
    assert result.closed == [OTHER_ID]
    assert told == [(1000, 2500), (2000, 2500), (2500, 2500)]


def test_an_error_counts_items_from_the_first_of_all(drive) -> None:
    wrong = {"field": "items.7.object", "message": "must not be blank"}
    refusal = httpx.Response(422, json={"detail": "items.7.object: must not be blank", "errors": [wrong]})
    with pytest.raises(UnprocessableEntityError) as caught:
        drive(
            Server(appended, refusal),
            lambda c: c.facts.append_many(AGENT_ID, [("s", "p", str(number)) for number in range(1500)]),
        )
    assert caught.value.errors[0].field == "items.1007.object"


@pytest.mark.parametrize("items", ["a fact", {"subject": "a"}, FactItem(subject="a", predicate="b", object="c")])
def test_one_fact_is_no_list_of_facts(drive, items: Any) -> None:
    with pytest.raises(TypeError, match="items must be a list"):
        drive(Server(routed), lambda c: c.facts.append_many(AGENT_ID, items))


def test_a_triple_has_three_parts(drive) -> None:
    with pytest.raises(TypeError, match=r"items\[1\]"):
        drive(Server(routed), lambda c: c.facts.append_many(AGENT_ID, [("a", "b", "c"), ("a", "b")]))


async def test_what_a_server_answers_is_what_the_client_reads(engram: AsyncEngram, agent_of_facts: str) -> None:
    scope = engram.agent(agent_of_facts)
    acme = await scope.facts.append("Alice", "works_at", "Acme", valid_from="2024-01-01")
    many = await scope.facts.append_many([("Alice", "works_at", "Initech"), ("Initech", "operates_in", "Austin")])
    assert many.closed == [acme.id]
    paths = await scope.facts.recall_graph("where does alice's employer operate?")
    assert [path.rendered for path in paths] == [
        "alice —works_at→ initech",
        "alice —works_at→ initech —operates_in→ austin",
    ]
    assert [fact.object async for fact in scope.facts.query(subject="Alice", limit=1)] == ["Initech", "Acme"]
    assert (await scope.facts.undo(many.ids[0])).changed == [acme.id]
    assert (await engram.facts.history(acme.id)).beliefs[-1].valid_until is None


@pytest.fixture
async def agent_of_facts(engram: AsyncEngram) -> str:
    id: str = (await engram.agents.create("facts")).id
    return id
