"""What goes over the wire."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from uuid import UUID

import httpx
import numpy as np
import pytest

import engram
from engram import UnprocessableEntityError
from engram.graph.schemas import Direction, RelationType
from engram.memories.criteria import TagFilter
from engram.memories.schemas import EntityRef, EntityRole, MemoryStatus

from .answers import (
    AGENT,
    AGENT_ID,
    CREATED,
    DETAIL,
    EDGE,
    MEMORY,
    MEMORY_ID,
    NOW,
    OTHER_ID,
    RECALLED,
    Server,
)

STATS = {"agent_id": AGENT_ID, "memories": 1, "edges": 2, "entities": 3, "pending_links": 0}
JOB = {
    "id": OTHER_ID,
    "kind": "rebuild_links",
    "agent_id": AGENT_ID,
    "projection": None,
    "status": "waiting",
    "attempts": 0,
    "error": None,
    "done": 0,
    "total": None,
    "created_at": NOW,
    "due_at": NOW,
    "started_at": None,
    "finished_at": None,
}
DELETED = {"id": MEMORY_ID, "status": "deleted"}
EDGE_DELETED = {
    "source_id": MEMORY_ID,
    "target_id": OTHER_ID,
    "relation_type": "causal",
    "invalidated_at": NOW,
}


def page(*items: dict) -> dict:
    return {"data": list(items), "next_cursor": None}


ENDPOINTS = {
    "agents.create": (lambda c: c.agents.create("support-bot"), "POST", "/v1/agents", AGENT),
    "agents.get": (lambda c: c.agents.get(AGENT_ID), "GET", f"/v1/agents/{AGENT_ID}", AGENT),
    "agents.list": (lambda c: c.agents.list(), "GET", "/v1/agents", page(AGENT)),
    "agents.update": (
        lambda c: c.agents.update(AGENT_ID, name="b"),
        "PATCH",
        f"/v1/agents/{AGENT_ID}",
        AGENT,
    ),
    "agents.stats": (lambda c: c.agents.stats(AGENT_ID), "GET", f"/v1/agents/{AGENT_ID}/stats", STATS),
    "agents.rebuild_links": (
        lambda c: c.agents.rebuild_links(AGENT_ID),
        "POST",
        f"/v1/agents/{AGENT_ID}/rebuild-links",
        JOB,
    ),
    "agents.find_communities": (
        lambda c: c.agents.find_communities(AGENT_ID),
        "POST",
        f"/v1/agents/{AGENT_ID}/entity-communities",
        JOB,
    ),
    "jobs.list": (lambda c: c.jobs.list(), "GET", "/v1/jobs", page(JOB)),
    "jobs.get": (lambda c: c.jobs.get(OTHER_ID), "GET", f"/v1/jobs/{OTHER_ID}", JOB),
    "jobs.retry": (lambda c: c.jobs.retry(OTHER_ID), "POST", f"/v1/jobs/{OTHER_ID}/retry", JOB),
    "jobs.retry_dead": (lambda c: c.jobs.retry_dead(), "POST", "/v1/jobs/retry", {"retried": 2, "more": False}),
    "memories.create": (lambda c: c.memories.create(AGENT_ID, "a"), "POST", "/v1/memories", CREATED),
    "memories.get": (lambda c: c.memories.get(MEMORY_ID), "GET", f"/v1/memories/{MEMORY_ID}", DETAIL),
    "memories.list": (lambda c: c.memories.list(AGENT_ID), "GET", "/v1/memories", page(MEMORY)),
    "memories.delete": (
        lambda c: c.memories.delete(MEMORY_ID),
        "DELETE",
        f"/v1/memories/{MEMORY_ID}",
        DELETED,
    ),
    "memories.delete_many": (
        lambda c: c.memories.delete_many(AGENT_ID, session_id="s"),
        "POST",
        "/v1/memories/delete",
        {"matched": 2, "deleted": 2, "remaining": 0},
    ),
    "memories.recall": (lambda c: c.memories.recall(AGENT_ID, "a"), "POST", "/v1/memories/recall", RECALLED),
    "graph.get_edges": (lambda c: c.graph.get_edges(MEMORY_ID), "GET", "/v1/graph/edges", page(EDGE)),
    "graph.create_edge": (
        lambda c: c.graph.create_edge(MEMORY_ID, OTHER_ID, "causal"),
        "POST",
        "/v1/graph/edges",
        EDGE,
    ),
    "graph.delete_edge": (
        lambda c: c.graph.delete_edge(MEMORY_ID, OTHER_ID, "causal"),
        "DELETE",
        "/v1/graph/edges",
        EDGE_DELETED,
    ),
    "health": (lambda c: c.health(), "GET", "/health/ready", {"status": "ok"}),
}


@pytest.mark.parametrize(("use", "method", "path", "answer"), ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_each_method_asks_its_endpoint_and_returns_the_answer(drive, use, method, path, answer) -> None:
    server = Server(answer)
    result = drive(server, use)
    assert (server.asked.method, server.asked.url.path) == (method, path)
    for name, value in answer.items():
        if isinstance(value, str) and value != NOW:
            assert result[name] == value


def test_deleting_an_agent_needs_no_answer(drive) -> None:
    server = Server(httpx.Response(204))
    assert drive(server, lambda c: c.agents.delete(AGENT_ID)) is None
    assert (server.asked.method, server.asked.url.path) == ("DELETE", f"/v1/agents/{AGENT_ID}")


def test_what_is_not_given_is_not_sent(drive) -> None:
    server = Server(CREATED)
    drive(server, lambda c: c.memories.create(agent_id=AGENT_ID, content="a", entities=["Alice"], tags=None))
    assert server.body == {"agent_id": AGENT_ID, "content": "a", "entities": ["Alice"]}


def test_every_argument_of_a_memory_is_sent_under_its_name(drive) -> None:
    arguments = {
        "agent_id": AGENT_ID,
        "content": "User is a software engineer",
        "entities": ["Alice", {"name": "Stripe", "role": "subject"}],
        "user_id": "u",
        "session_id": "s",
        "tags": ["work"],
        "metadata": {"nothing": None},
        "source": "chat",
        "confidence": 0.5,
        "valid_from": "2026-05-01",
        "valid_until": "2026-06-01T00:00:00Z",
        "embedding": [0.5, 0.25],
    }
    server = Server(CREATED)
    drive(server, lambda c: c.memories.create(**arguments))
    assert server.body == arguments


def test_every_argument_of_a_recall_is_sent_under_its_name(drive) -> None:
    arguments = {
        "agent_id": AGENT_ID,
        "query": "What does this user do for work?",
        "top_k": 10,
        "graph_weight": 0.5,
        "max_hops": 2,
        "hop_penalty": 0.1,
        "lexical": False,
        "relation_types": [],
        "as_of": NOW,
        "user_id": "u",
        "session_id": "s",
        "tags": {"all": ["work"]},
        "metadata": {"n": {"gte": 1}},
        "valid_from": NOW,
        "valid_until": NOW,
        "min_score": 0.0,
        "explain": True,
        "embedding": [1.0],
    }
    server = Server(RECALLED)
    drive(server, lambda c: c.memories.recall(**arguments))
    assert server.body == arguments


def test_values_travel_in_the_form_that_the_server_reads(drive) -> None:
    server = Server(CREATED)
    drive(
        server,
        lambda c: c.memories.create(
            UUID(AGENT_ID),
            "naïve ☕",
            entities=[EntityRef(name="Alice", role=EntityRole.subject), EntityRef(name="Bob")],
            tags=("a", "b"),
            metadata=MappingProxyType({"when": datetime(2026, 5, 1, 12), "day": date(2026, 5, 1)}),
            valid_from=datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            valid_until=date(2026, 6, 1),
            confidence=np.float64(0.5),
            embedding=np.array([0.5, 0.25], dtype=np.float32),
        ),
    )
    assert server.body == {
        "agent_id": AGENT_ID,
        "content": "naïve ☕",
        "entities": [{"name": "Alice", "role": "subject"}, {"name": "Bob"}],
        "tags": ["a", "b"],
        "metadata": {"when": "2026-05-01T12:00:00", "day": "2026-05-01"},
        "valid_from": "2026-05-01T10:00:00+00:00",
        "valid_until": "2026-06-01",
        "confidence": 0.5,
        "embedding": [0.5, 0.25],
    }


def test_an_offset_with_seconds_becomes_one_that_iso_knows(drive) -> None:
    local_mean_time = timezone(timedelta(minutes=53, seconds=28))
    server = Server(CREATED)
    drive(
        server,
        lambda c: c.memories.create(AGENT_ID, "a", valid_from=datetime(1850, 1, 1, 1, tzinfo=local_mean_time)),
    )
    assert server.body["valid_from"] == "1850-01-01T00:06:32+00:00"


def test_a_moment_outside_the_years_of_utc_is_the_servers_to_refuse(drive) -> None:
    server = Server(CREATED)
    moment = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    drive(server, lambda c: c.memories.create(AGENT_ID, "a", valid_from=moment))
    assert server.body["valid_from"] == "0001-01-01T00:00:00+02:00"


def test_a_tag_filter_may_be_its_model(drive) -> None:
    server = Server(RECALLED)
    drive(server, lambda c: c.memories.recall(AGENT_ID, "a", tags=TagFilter(all=["x"])))
    assert server.body["tags"] == {"all": ["x"]}


def test_query_parameters_are_encoded_and_lists_repeated(drive) -> None:
    server = Server(page())
    drive(
        server,
        lambda c: c.graph.get_edges(
            UUID(MEMORY_ID),
            direction=Direction.incoming,
            relation_type=[RelationType.causal, "supports"],
            min_weight=0.5,
            as_of=datetime(2026, 5, 1, tzinfo=UTC),
            limit=10,
        ),
    )
    assert list(server.asked.url.params.multi_items()) == [
        ("memory_id", MEMORY_ID),
        ("direction", "in"),
        ("relation_type", "causal"),
        ("relation_type", "supports"),
        ("min_weight", "0.5"),
        ("as_of", "2026-05-01T00:00:00+00:00"),
        ("limit", "10"),
    ]


def test_one_relation_type_needs_no_list(drive) -> None:
    server = Server(page())
    drive(server, lambda c: c.graph.get_edges(MEMORY_ID, relation_type="causal"))
    assert server.asked.url.params.get_list("relation_type") == ["causal"]


def test_an_empty_list_is_not_mistaken_for_no_filter(drive) -> None:
    server = Server(page())
    drive(server, lambda c: c.graph.get_edges(MEMORY_ID, relation_type=[]))
    assert server.asked.url.params.get_list("relation_type") == [""]


def test_text_in_query_parameters_arrives_as_it_is(drive) -> None:
    server = Server(page())
    drive(
        server,
        lambda c: c.memories.list(
            AGENT_ID, user_id="a&b=c +%20ü", tag="x", status=MemoryStatus.deleted, include_total=True
        ),
    )
    assert dict(server.asked.url.params) == {
        "agent_id": AGENT_ID,
        "user_id": "a&b=c +%20ü",
        "tag": "x",
        "status": "deleted",
        "include_total": "true",
    }


def test_what_a_list_is_asked_for_becomes_parameters(drive) -> None:
    server = Server(page())
    drive(
        server,
        lambda c: c.memories.list(
            AGENT_ID,
            key="billing/owner",
            tag="x",
            tags={"all": ["y"], "any": [], "none": ["p", "q"], "exact": None},
            metadata={"age": {"gte": 3}, "when": datetime(2026, 5, 1, tzinfo=UTC)},
            as_of="2026-05-01",
        ),
    )
    assert sorted(server.asked.url.params.multi_items()) == [
        ("agent_id", AGENT_ID),
        ("as_of", "2026-05-01"),
        ("key", "billing/owner"),
        ("metadata", '{"age":{"gte":3},"when":"2026-05-01T00:00:00+00:00"}'),
        ("tag", "x"),
        ("tag", "y"),
        ("tag_any", ""),
        ("tag_none", "p"),
        ("tag_none", "q"),
    ]


@pytest.mark.parametrize(
    ("tags", "sent"),
    [(["a", "b"], [("tag_any", "a"), ("tag_any", "b")]), (TagFilter(exact=[]), [("tag_exact", "")]), ({"all": []}, [])],
)
def test_tags_of_a_list_travel_by_their_kind(drive, tags, sent) -> None:
    server = Server(page())
    drive(server, lambda c: c.memories.list(AGENT_ID, tags=tags))
    assert [pair for pair in server.asked.url.params.multi_items() if pair[0] != "agent_id"] == sent


def test_an_id_cannot_lead_to_another_path(drive) -> None:
    server = Server(DETAIL)
    drive(server, lambda c: c.memories.get("../agents?x=1#y"))
    assert server.asked.url.raw_path == b"/v1/memories/..%2Fagents%3Fx%3D1%23y"


@pytest.mark.parametrize("memory_id", ["", "  ", ".", ".."])
def test_an_id_that_is_no_path_segment_is_refused_by_name(drive, memory_id: str) -> None:
    server = Server(DETAIL)
    with pytest.raises(UnprocessableEntityError) as caught:
        drive(server, lambda c: c.memories.get(memory_id))
    assert caught.value.errors[0].field == "memory_id"
    assert server.requests == []


def test_a_lone_surrogate_in_a_body_reaches_the_server(drive) -> None:
    server = Server(CREATED)
    drive(server, lambda c: c.memories.create(AGENT_ID, "broken \ud800"))
    assert server.body["content"] == "broken \ud800"


@pytest.mark.parametrize(
    ("use", "field"),
    [
        (lambda c: c.memories.list(AGENT_ID, session_id="broken \ud800"), "session_id"),
        (lambda c: c.memories.get("broken \ud800"), "memory_id"),
        (lambda c: c.memories.list(AGENT_ID, tags="a"), "tags"),
        (lambda c: c.memories.list(AGENT_ID, metadata={"a": {"in": {1}}}), "metadata.a.in"),
        (lambda c: c.memories.recall(AGENT_ID, "a", graph_weight=float("nan")), "graph_weight"),
        (lambda c: c.memories.create(AGENT_ID, "a", embedding=[0.0, float("inf")]), "embedding.1"),
        (lambda c: c.memories.create(AGENT_ID, "a", embedding=np.array([np.nan])), "embedding.0"),
        (lambda c: c.memories.create(AGENT_ID, "a", metadata={"a": [{"b": {1}}]}), "metadata.a.0.b"),
        (lambda c: c.memories.create(AGENT_ID, b"bytes"), "content"),
        (lambda c: c.memories.create(AGENT_ID, "a", metadata={"n": 10**5000}), "metadata.n"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(drive, use, field: str) -> None:
    server = Server(CREATED)
    with pytest.raises(UnprocessableEntityError) as caught:
        drive(server, use)
    assert [error.field for error in caught.value.errors] == [field]
    assert field in str(caught.value)
    assert server.requests == []


def test_what_contains_itself_is_refused_by_name(drive) -> None:
    endless: dict = {}
    endless["again"] = endless
    with pytest.raises(UnprocessableEntityError, match="metadata"):
        drive(Server(CREATED), lambda c: c.memories.create(AGENT_ID, "a", metadata=endless))


def test_an_argument_too_long_for_a_url_is_refused(drive) -> None:
    with pytest.raises(UnprocessableEntityError, match="URL"):
        drive(Server(page()), lambda c: c.agents.list(name="x" * 100_000))


def test_requests_say_who_asks(drive) -> None:
    server = Server(AGENT)
    drive(server, lambda c: c.agents.get(AGENT_ID), api_key="k")
    assert server.asked.headers["authorization"] == "Bearer k"
    assert server.asked.headers["user-agent"] == f"engram-python/{engram.__version__}"


def test_without_a_key_there_is_no_authorization(drive) -> None:
    server = Server(AGENT)
    drive(server, lambda c: c.agents.get(AGENT_ID))
    assert "authorization" not in server.asked.headers
    assert str(server.asked.url) == f"http://127.0.0.1:8080/v1/agents/{AGENT_ID}"


def test_server_and_key_are_read_from_the_environment(drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_BASE_URL", "https://memory.example/behind/a/proxy/")
    monkeypatch.setenv("ENGRAM_API_KEY", "from-the-environment\n")
    server = Server(AGENT)
    drive(server, lambda c: c.agents.get(AGENT_ID))
    assert str(server.asked.url) == f"https://memory.example/behind/a/proxy/v1/agents/{AGENT_ID}"
    assert server.asked.headers["authorization"] == "Bearer from-the-environment"


@pytest.mark.parametrize(
    ("use", "carries"),
    [
        (lambda c: c.memories.create(AGENT_ID, "a"), True),
        (lambda c: c.memories.delete(MEMORY_ID), True),
        (lambda c: c.agents.update(AGENT_ID, name="b"), True),
        (lambda c: c.memories.recall(AGENT_ID, "a"), False),
        (lambda c: c.memories.get(MEMORY_ID), False),
    ],
)
def test_writes_alone_carry_an_idempotency_key(drive, use, carries: bool) -> None:
    everything = {**CREATED, **AGENT, **RECALLED}
    server = Server(everything)
    drive(server, use)
    assert ("idempotency-key" in server.asked.headers) is carries


def test_results_answer_to_attributes_and_to_names(drive) -> None:
    result = drive(Server(RECALLED), lambda c: c.memories.recall(AGENT_ID, "work?"))
    assert [hit.content for hit in result] == [hit["content"] for hit in result["results"]]
    assert len(result) == 1
    assert result["query"] == result.query == "work?"
    with pytest.raises(KeyError):
        result["no such field"]


def test_json_bodies_are_json(drive) -> None:
    server = Server(CREATED)
    drive(server, lambda c: c.memories.create(AGENT_ID, "a"))
    assert server.asked.headers["content-type"] == "application/json"
    assert json.loads(server.asked.content)["content"] == "a"
