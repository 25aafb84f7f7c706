"""Any text in any place is taken as it is or refused by name, by one rule for each kind of field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from urllib.parse import quote
from uuid import uuid4

import httpx
import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.entities.canonical import canonical_name
from tests.contract.asking import as_header, ask, request_for, send
from tests.contract.hostile import SAMPLES, texts
from tests.contract.judging import KINDS, has_surrogate, judge, taken_again, taken_as
from tests.contract.places import KEY, Place, places
from tests.contract.world import World
from tests.fixtures.fuzzing import EXAMPLES, SEED, drawing

# Of a memory that takes another's place these come from that one, and others are refused whatever they say.
SETTLED = {("supersede_memory", ("user_id",)), ("supersede_memory", ("session_id",))}
PLACES = [place for place in places() if (place.operation, place.way) not in SETTLED]
MANY = drawing(20 * EXAMPLES)


@pytest.fixture(scope="module")
def http(world: World) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=world.url, headers=world.tenant.headers(), timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def spent() -> dict[str, object]:
    """The request for which each ``Idempotency-Key`` stands that was taken."""
    return {}


@pytest.fixture(scope="module")
def other(world: World) -> World:
    """Another agent, to which nothing is written."""
    return World.made(world.url, world.tenant, f"other {uuid4()}")


def test_all_kinds_of_text_are_known() -> None:
    known = [place for place in PLACES if judge(place) or place.says("enum") or place.says("format")]
    unknown = {place.way for place in PLACES} - {place.way for place in known}
    # Text as the server gave it, JSON in a text, and names with a value that is one of two words.
    assert unknown == {("cursor",), ("metadata",), ("verbs", KEY), ("attributes", KEY)}
    assert {place.inside for place in PLACES} == {"body", "query", "path", "header"}
    assert {judge(place) for place in known} >= set(KINDS.values())


@hypothesis.seed(SEED)
@given(place=st.sampled_from(PLACES), text=texts)
@MANY
def test_any_text_is_taken_as_it_is_or_refused_by_name(
    http: httpx.Client, world: World, other: World, spent: dict[str, object], place: Place, text: str
) -> None:
    response = ask(http, world, place, text)
    taken = taken_again(place, text, response.request, spent)
    if taken is None:
        assert 400 <= response.status_code < 500, response.text
        assert_is_a_problem(response, place, text)
    else:
        assert response.status_code in (200, 201, 202, 204, 409), response.text
        assert_reads_back(http, place, taken, response)
    assert_untouched(http, other)


@pytest.mark.parametrize("place", [place for place in PLACES if place.inside == "body" and place.method == "POST"][::7])
def test_every_sample_is_judged(http: httpx.Client, world: World, place: Place) -> None:
    for text in SAMPLES:
        response = ask(http, world, place, text)
        assert (response.status_code < 300) == (taken_as(place, text) is not None), (text, response.text)


def test_every_sample_is_judged_as_a_key_of_a_repeat(
    http: httpx.Client, world: World, spent: dict[str, object]
) -> None:
    writes = [place for place in PLACES if place.inside == "header"]
    for text, place in zip((*SAMPLES, "x" * 255, "x" * 256, "~" * 255), cycle(writes), strict=False):
        response = ask(http, world, place, text)
        taken = taken_again(place, text, response.request, spent)
        assert (response.status_code < 300) == (taken is not None), (text, response.text)
        if taken is None:
            assert_is_a_problem(response, place, text)


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"])
def test_bytes_that_are_no_text_are_refused(http: httpx.Client, bad: bytes) -> None:
    json_type = {"content-type": "application/json"}
    for path in (
        "/v1/agents",
        "/v1/memories",
        "/v1/memories/batch",
        "/v1/memories/recall",
        "/v1/graph/edges",
        "/v1/graph/edges/batch",
    ):
        response = http.post(path, content=b'{"name": "' + bad + b'"}', headers=json_type)
        assert (response.status_code, response.json()["type"]) == (400, "bad-request"), path
    response = http.get(f"/v1/agents?name={quote(bad)}")
    assert (response.status_code, response.json()["type"]) == (400, "bad-request")
    assert http.get(f"/v1/agents/{quote(bad)}").status_code == 422


@hypothesis.seed(SEED)
@given(name=st.sampled_from(["X-Request-ID", "Idempotency-Key", "Authorization"]), value=texts)
@drawing(4 * EXAMPLES)
def test_no_header_does_harm(http: httpx.Client, name: str, value: str) -> None:
    raw = as_header(value)
    response = http.get("/v1/agents", params={"limit": 1}, headers=[(name.encode(), raw)])
    assert response.status_code == (401 if name == "Authorization" else 200), response.text
    if name == "X-Request-ID":
        kept = re.fullmatch(rb"[A-Za-z0-9_.:-]{1,128}", raw)
        assert (response.headers[name].encode() == raw) == bool(kept)


@hypothesis.seed(SEED)
@given(
    name=texts.map(lambda text: f"{text}?"),  # no field is called so
    place=st.sampled_from([place for place in PLACES if place.inside == "body"]),
)
@drawing(4 * EXAMPLES)
def test_a_field_that_nobody_knows_is_refused_whatever_its_name(
    http: httpx.Client, world: World, name: str, place: Place
) -> None:
    response = send(http, place, world, request_for(world, place) | {name: "x"}, "")
    assert response.status_code == 422, response.text
    refusal = "must not contain lone surrogates" if has_surrogate(name) else "is not known here"
    assert refusal in {error["message"] for error in response.json()["errors"]}


def assert_is_a_problem(response: httpx.Response, place: Place, text: str) -> None:
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    if place.inside == "path":
        return  # a slash makes another address of it
    if response.status_code == 400:
        assert place.inside == "query"
        assert has_surrogate(text)
        return
    if place.inside == "header":
        assert {error["field"] for error in problem["errors"]} == {place.way[0]}, problem
        return
    steps = [str(step) for step in place.way if step != KEY]
    named = 3 if steps[0] in ("items", "edges") else 1
    assert problem["errors"][0]["field"].split(".")[:named] == steps[:named], problem


def assert_reads_back(http: httpx.Client, place: Place, taken: str, response: httpx.Response) -> None:
    if place.inside == "header":
        return
    answer = response.json()
    if place.operation == "create_edge":
        assert place.taken_from(answer) == taken
    elif place.operation == "create_edges":
        assert replace(place, way=place.way[2:]).taken_from(answer["results"][0]) == taken
    elif place.operation in ("create_agent", "update_agent"):
        if response.status_code == 201 or place.operation == "update_agent":
            read = http.get(f"/v1/agents/{answer['id']}").json() if response.status_code != 409 else None
            assert read is None or place.taken_from(read) == taken
    elif place.operation in ("create_memory", "create_memories"):
        way = place.way if place.operation == "create_memory" else place.way[2:]
        id = answer["id"] if place.operation == "create_memory" else answer["results"][0]["id"]
        read = http.get(f"/v1/memories/{id}").json()
        if way[0] == "entities":
            # Spelt as by whoever named it first. Some names name nothing.
            names = {canonical_name(entity["name"]) for entity in read["entities"]}
            assert canonical_name(taken) in names | {None} or len(taken) > 256
        else:
            assert replace(place, way=way).taken_from(read) == taken


def assert_untouched(http: httpx.Client, other: World) -> None:
    listed = http.get("/v1/memories", params={"agent_id": other.agent_id}).json()["data"]
    assert sorted(memory["id"] for memory in listed) == sorted(other.memory_ids)
