"""Bodies that cannot be read, or can be read in more than one way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from engram.agents.schemas import Agent

JSON = {"content-type": "application/json"}


def nested(depth: int) -> bytes:
    return b'{"name": "x", "metadata": {"deep": ' + b"[" * depth + b"]" * depth + b"}}"


UNREADABLE = [
    (b"", "empty"),
    (b" \n", "empty"),
    (b"{", "not JSON"),
    (b"name=x", "not JSON"),
    (b'{"name": "x"} {}', "not JSON"),
    (b'{"name": "\xff"}', "UTF-8"),
    ('{"name": "x"}'.encode("utf-16"), "UTF-8"),
    (b'{"name": ' + b"1" * 5000 + b"}", "digits"),
    (nested(2_000), "nested"),
    (nested(200_000), "nested"),
]


async def test_what_cannot_be_read_is_a_bad_request(http: httpx.AsyncClient) -> None:
    for body, complaint in UNREADABLE:
        response = await http.post("/v1/agents", content=body, headers=JSON)
        assert (response.status_code, response.json()["type"]) == (400, "bad-request"), body[:80]
        assert complaint in response.json()["detail"], body[:80]


WRONG = [
    (b'{"name": "x", "name": "y"}', "name", "twice"),
    (b'{"name": "x", "metadata": {"a": {"k": 1, "k": 2}}}', "k", "twice"),
    (b"[]", "body", "object"),
    (b"null", "body", "object"),
    (b'"x"', "body", "object"),
    (b"{}", "name", "required"),
    (b'{"name": "x", "colour": 1}', "colour", "not known"),
    (b'{"name": NaN}', "name", "string"),
    (b'{"name": "x", "metadata": {"n": NaN}}', "metadata", "NaN"),
    (b'{"name": "x", "metadata": {"n": -Infinity}}', "metadata", "infinite"),
    (b'{"name": "x", "metadata": {"n": 1e999}}', "metadata", "infinite"),
    (b'{"name": "x", "metadata": {"n": 1' + b"0" * 400 + b"}}", "metadata", "digits"),
    (b'{"name": "x", "metadata": []}', "metadata", "object"),
    (b'{"name": "\\ud800"}', "name", "surrogates"),
    (b'{"name": "x", "\\ud800": 1}', "body", "surrogates"),
    (b'{"name": "x", "metadata": {"\\udfff": 1}}', "metadata", "surrogates"),
    (nested(20), "metadata", "nested"),
    (nested(400), "metadata", "nested"),
]


async def test_what_is_wrong_in_a_body_is_named(http: httpx.AsyncClient) -> None:
    for body, field, message in WRONG:
        response = await http.post("/v1/agents", content=body, headers=JSON)
        assert (response.status_code, response.json()["type"]) == (422, "invalid-input"), body[:80]
        (error,) = response.json()["errors"]
        assert error["field"].startswith(field), body[:80]
        assert message in error["message"], body[:80]


async def test_a_byte_order_mark_is_not_minded(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/agents", content='{"name": "x"}'.encode("utf-8-sig"), headers=JSON)
    assert response.status_code == 201


NOT_PLAIN_JSON: list[dict[str, str]] = [
    {},
    {"content-type": ""},
    {"content-type": "text/plain"},
    {"content-type": "application/x-www-form-urlencoded"},
    {"content-type": "multipart/form-data; boundary=x"},
    {"content-type": "application/json", "content-encoding": "gzip"},
]


async def test_a_body_that_does_not_say_it_is_plain_json_is_refused(http: httpx.AsyncClient) -> None:
    for headers in NOT_PLAIN_JSON:
        response = await http.post("/v1/agents", content=b'{"name": "x"}', headers=headers)
        assert (response.status_code, response.json()["type"]) == (415, "unsupported-media-type"), headers
    assert (await http.get("/v1/agents")).json()["data"] == []


async def test_json_goes_by_several_names(http: httpx.AsyncClient) -> None:
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"):
        response = await http.post("/v1/agents", content=b'{"name": "x"}', headers={"content-type": kind})
        assert response.is_success, kind


async def test_of_very_many_errors_some_are_told(http: httpx.AsyncClient, agent: Agent) -> None:
    body = {"agent_id": agent.id, "items": [{"content": " ", "extra": 1}] * 500}
    response = await http.post("/v1/memories/batch", json=body)
    document = response.json()
    assert response.status_code == 422
    assert document["errors"][0] == {"field": "items.0.content", "message": "must not be blank"}
    assert 10 < len(document["errors"]) < 1000
    assert "999 more" in document["detail"]


@pytest.mark.parametrize("name", ["x" * 100_000, "\ud800" * 100_000], ids=["long", "surrogates"])
async def test_long_input_is_not_sent_back(http: httpx.AsyncClient, agent: Agent, name: str) -> None:
    metadata = {"age": {name: 1}}
    content = json.dumps({"agent_id": agent.id, "query": "x", "metadata": metadata, name: 1}).encode()
    response = await http.post("/v1/memories/recall", content=content, headers=JSON)
    assert response.status_code == 422
    assert len(response.content) < 5_000
    response.content.decode("utf-8")
    response.json()


class TestSize:
    LIMIT = 2_000

    @pytest.fixture
    def settings(self, settings):
        return settings.model_copy(update={"max_body_bytes": self.LIMIT})

    @staticmethod
    def body(size: int) -> bytes:
        start, end = b'{"name": "x", "metadata": {"filler": "', b'"}}'
        return start + b"." * (size - len(start) - len(end)) + end

    async def test_a_body_of_the_limit_is_read(self, http: httpx.AsyncClient) -> None:
        assert (await http.post("/v1/agents", content=self.body(self.LIMIT), headers=JSON)).status_code == 201

    async def test_a_longer_one_is_refused_by_its_stated_length(self, http: httpx.AsyncClient) -> None:
        response = await http.post("/v1/agents", content=self.body(self.LIMIT + 1), headers=JSON)
        assert (response.status_code, response.json()["type"]) == (413, "body-too-large")
        assert str(self.LIMIT) in response.json()["detail"]

    async def test_a_longer_one_in_pieces_is_refused_while_it_is_read(self, http: httpx.AsyncClient) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(self.LIMIT + 1):
                yield b" "

        response = await http.post("/v1/agents", content=pieces(), headers=JSON)
        assert (response.status_code, response.json()["type"]) == (413, "body-too-large")
