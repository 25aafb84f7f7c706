"""Facts and questions about them that cannot be meant, or are meant oddly."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent

from .test_facts import ask, listed, say, walked

NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"
FACT = {"subject": "Alice", "predicate": "works_at", "object": "Acme"}


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


WRITTEN = {*FACT, "user_id", "valid_from", "valid_until", "sources"}
LISTED = {*FACT, "user_id", "valid_at", "known_at", "limit"}
WALKED = {"query", "user_id", "valid_at", "known_at", "limit", "hops"}


async def refused(http: httpx.AsyncClient, agent: Agent, field: str, value: Any) -> None:
    """By every route that takes the field, and by name."""
    own = {"agent_id": agent.id, field: value}
    asked: list[tuple[set[str], str, str, str, dict[str, Any]]] = [
        (WRITTEN, field, "POST", "/v1/facts", {"json": {**FACT, **own}}),
        (WRITTEN, f"items.1.{field}", "POST", "/v1/facts/batch", {"json": _batch(agent, {**FACT, field: value})}),
        (WALKED, field, "POST", "/v1/facts/recall-graph", {"json": {"query": "alice", **own}}),
        (LISTED, field, "GET", "/v1/facts", {"params": own}),
    ]
    for takes, named, method, path, request in asked:
        if field in takes:
            answer = await http.request(method, path, **request)
            assert answer.status_code == 422, (path, field, value, answer.text)
            assert answer.json()["errors"][0]["field"].startswith(named), (path, field, value, answer.text)


def _batch(agent: Agent, item: dict[str, Any]) -> dict[str, Any]:
    return {"agent_id": agent.id, "items": [FACT, item]}


async def test_text_that_cannot_be_stored_is_refused_wherever_it_stands(http: httpx.AsyncClient, agent: Agent) -> None:
    for field in (*FACT, "user_id", "query"):
        await refused(http, agent, field, "a\0b")
    half = json.dumps({"agent_id": agent.id, **FACT, "subject": "\ud800"}).encode()
    answer = await http.post("/v1/facts", content=half, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    await refused(http, agent, "sources", ["a\0b"])
    body = {"agent_id": agent.id, "name": "a\0b", "other": "b"}
    assert (await http.post("/v1/facts/merge", json=body)).status_code == 422
    assert await listed(http, agent.id) == []


async def test_a_fact_or_a_question_that_cannot_be_meant_is_refused_by_name(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    for field in (*FACT, "user_id", "query"):
        for blank in ("", " \t"):
            await refused(http, agent, field, blank)
    for field in ("valid_from", "valid_until", "valid_at", "known_at"):
        for moment in ("March 2026", "yesterday", "2026-13-01", 1767225600000, ""):
            await refused(http, agent, field, moment)
    for field, values in {
        "limit": (-1, 10**9, "ten"),
        "hops": (-1, 5, 1.5),
        "sources": ("a chat", [""], ["a"] * 65),
        "predicate": ("---", "_"),
        "object": ("a" * 513,),
    }.items():
        for value in values:
            await refused(http, agent, field, value)
    turned = {**FACT, "valid_from": "2026-02-01", "valid_until": "2026-02-01"}
    assert (await http.post("/v1/facts", json={"agent_id": agent.id, **turned})).status_code == 422
    assert await listed(http, agent.id) == []


async def test_a_question_of_signs_stop_words_or_nothing_to_go_by_is_answered(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    await say(http, agent.id, "The of|is_in|the and")
    await say(http, agent.id, "Alice|works_at|Acme")
    for query in ("!!!", "`", "a&b | c:*", "'", "\\", "%", "_", "of", "x'; drop table facts--"):
        assert await walked(http, agent.id, query) == [], query
    # There are no stop words: what a name holds finds it.
    assert len(await walked(http, agent.id, "the")) == 2
    for option in ({"limit": 0}, {"hops": 0}):
        assert await walked(http, agent.id, "alice", **option) == []
    long = "alice " + "word " * 1500
    assert await walked(http, agent.id, long) == ["alice —works_at→ acme"]


async def test_names_predicates_and_users_are_only_data(http: httpx.AsyncClient, agent: Agent) -> None:
    odd = ("x'; drop table facts--", '"; select 1', "100%", "a_b", "$1", "{0}", "\\")
    for text in odd:
        fact = await say(http, agent.id, f"{text}|likes it|{text}!", user_id=text, sources=[text])
        (found,) = await listed(http, agent.id, user_id=text, subject=text, object=f"{text}!")
        assert (found["id"], found["subject"], found["sources"]) == (fact["id"], text, [text])
        assert await listed(http, agent.id, user_id=text, predicate=text) == []
    assert (await ask(http, "GET", f"/v1/agents/{agent.id}/stats"))["facts"] == len(odd)


async def test_nothing_is_found_or_made_of_what_is_not_there(http: httpx.AsyncClient, engram: AsyncEngram) -> None:
    merge = {"name": "a", "other": "b"}
    for method, path, body in (
        ("POST", "/v1/facts", {"agent_id": NOBODY, **FACT}),
        ("POST", "/v1/facts/batch", {"agent_id": NOBODY, "items": [FACT]}),
        ("POST", "/v1/facts/recall-graph", {"agent_id": NOBODY, "query": "alice"}),
        ("POST", "/v1/facts/merge", {"agent_id": NOBODY, **merge}),
        ("GET", "/v1/facts", {"agent_id": NOBODY}),
        ("GET", "/v1/facts/merge", {"agent_id": NOBODY}),
        *(
            (method, f"/v1/facts/{NOBODY}{end}", {})
            for method, end in (("GET", ""), ("GET", "/history"), ("DELETE", ""))
        ),
        *(("POST", f"/v1/facts/{NOBODY}/{act}", {}) for act in ("undo", "restore")),
        ("DELETE", f"/v1/facts/merge/{NOBODY}", {}),
    ):
        answer = await http.request(method, path, **({"params": body} if method == "GET" else {"json": body or None}))
        assert answer.status_code == 404, (method, path, answer.text)
    assert [agent async for agent in engram.agents.list()] == []


async def test_a_time_without_an_offset_is_in_utc_and_windows_are_half_open(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    begins, ends = "2026-01-05T00:00:00", "2026-02-05T02:00:00+02:00"
    fact = await say(http, agent.id, "Alice|works_at|Acme", valid_from=begins, valid_until=ends)
    assert (fact["valid_from"], fact["valid_until"]) == ("2026-01-05T00:00:00Z", "2026-02-05T00:00:00Z")
    for at, holds in (
        ("2026-01-04T23:59:59.999999", False),
        ("2026-01-05T00:00:00", True),
        ("2026-01-05T01:00:00+01:00", True),
        ("2026-02-04T23:59:59.999999Z", True),
        ("2026-02-05T00:00:00", False),
    ):
        found = (await listed(http, agent.id, valid_at=at), await walked(http, agent.id, "alice", valid_at=at))
        assert [bool(one) for one in found] == [holds, holds], at
    # What ends in a time to come has not ended.
    await say(http, agent.id, "Bob|works_at|Acme", valid_until="2999-01-01")
    assert await walked(http, agent.id, "bob", hops=1) == ["bob —works_at→ acme"]
    # What another begins with is over at that moment, and not both.
    await say(http, agent.id, "Alice|works_at|Hooli", valid_from="2026-01-20")
    at = "2026-01-20T00:00:00Z"
    assert [fact["object"] for fact in await listed(http, agent.id, subject="Alice", valid_at=at)] == ["Hooli"]


async def test_a_name_with_line_breaks_is_one_line_and_one_node(http: httpx.AsyncClient, agent: Agent) -> None:
    await say(http, agent.id, "New\nYork|lies\n in|the\tUSA")
    await say(http, agent.id, "Ann|lives_in|new york")
    assert await walked(http, agent.id, "ann") == [
        "ann —lives_in→ new york",
        "ann —lives_in→ new york —lies_in→ the usa",
    ]


async def test_the_longest_names_are_stored_found_and_told(http: httpx.AsyncClient, agent: Agent) -> None:
    subject, object, predicate, user = "𝔸" * 512, "東京" * 256, "aB" * 128, "ü" * 256
    sources = ["𝔸" * 256] * 64
    fact = await say(http, agent.id, f"{subject}|{predicate}|{object}", user_id=user, sources=sources)
    (found,) = await listed(http, agent.id, user_id=user, subject=subject, object=object, predicate=predicate)
    assert (found["id"], found["sources"]) == (fact["id"], sources)
    assert len(await walked(http, agent.id, object, user_id=user)) == 1
    file = (await http.get(f"/v1/agents/{agent.id}/export")).content
    copy = await http.post(
        "/v1/agents/import",
        params={"name": "copy", "ids": "new"},
        content=file,
        headers={"content-type": "application/x-ndjson"},
    )
    assert copy.status_code == 201, copy.text
    (again,) = await listed(http, copy.json()["id"], user_id=user)
    assert {name: again[name] for name in ("subject", "predicate", "object")} == {
        name: found[name] for name in ("subject", "predicate", "object")
    }


async def test_a_long_list_of_facts_has_everything_once(http: httpx.AsyncClient, agent: Agent) -> None:
    items = [{"subject": f"s{n}", "predicate": "p", "object": "o"} for n in range(450)]
    ids = (await ask(http, "POST", "/v1/facts/batch", agent_id=agent.id, items=items))["ids"]
    found: list[str] = []
    cursor: dict[str, str] = {}
    while not found or cursor:
        page = await ask(http, "GET", "/v1/facts", agent_id=agent.id, limit=200, **cursor)
        found += [fact["id"] for fact in page["data"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
    # The one learnt last first.
    assert found == ids[::-1]
