"""What a refusal becomes."""

from __future__ import annotations

import pickle

import httpx
import pytest

import engram
from engram import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    EngramError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    UnprocessableEntityError,
)

from .answers import AGENT_ID, CREATED, MEMORY_ID, Server

PROBLEM = {
    "type": "invalid-input",
    "title": "Invalid input",
    "status": 422,
    "detail": "two fields are wrong",
    "errors": [
        {"field": "content", "message": "must not be blank"},
        {"field": "tags.0", "message": "must not be blank"},
    ],
}


def problem(status: int, document: object = PROBLEM, **headers: str) -> httpx.Response:
    return httpx.Response(
        status,
        json=document,
        headers={"content-type": "application/problem+json", "x-request-id": "r-1", **headers},
    )


def refused(drive, answer: httpx.Response) -> APIStatusError:
    with pytest.raises(APIStatusError) as caught:
        drive(Server(answer), lambda c: c.memories.get(MEMORY_ID), max_retries=0)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, AuthenticationError),
        (403, PermissionDeniedError),
        (404, NotFoundError),
        (409, ConflictError),
        (422, UnprocessableEntityError),
        (429, RateLimitError),
        (500, InternalServerError),
        (503, InternalServerError),
        (599, InternalServerError),
        (413, APIStatusError),
        (418, APIStatusError),
    ],
)
def test_each_status_has_its_error(drive, status: int, kind: type[APIStatusError]) -> None:
    error = refused(drive, problem(status))
    assert type(error) is kind
    assert error.status_code == status


def test_an_error_says_what_the_server_said(drive) -> None:
    error = refused(drive, problem(422))
    assert error.detail == "two fields are wrong"
    assert error.request_id == "r-1"
    assert [(one.field, one["message"]) for one in error.errors] == [
        ("content", "must not be blank"),
        ("tags.0", "must not be blank"),
    ]
    text = str(error)
    assert text.startswith("422: two fields are wrong")
    assert "tags.0: must not be blank" in text
    assert "r-1" in text


def test_a_field_that_the_detail_names_is_not_named_twice(drive) -> None:
    document = {"detail": "content: must not be blank", "errors": PROBLEM["errors"][:1]}
    assert str(refused(drive, problem(422, document))).count("content") == 1


def test_an_error_without_detail_shows_its_title(drive) -> None:
    assert refused(drive, problem(404, {"title": "Not found"})).detail == "Not found"


@pytest.mark.parametrize("document", [[], "text", None, 3, {}, {"detail": [1], "errors": {"a": 1}}, {"errors": [3]}])
def test_a_json_body_that_is_no_problem_document_still_gives_the_status(drive, document: object) -> None:
    error = refused(drive, problem(404, document))
    assert error.detail.startswith("Not Found")
    assert error.errors == ()


def test_a_proxys_page_gives_the_status_and_a_short_excerpt(drive) -> None:
    html = "<html><head><title>502 Bad Gateway</title></head>\n<body>" + "nginx " * 1000
    error = refused(drive, httpx.Response(502, html=html))
    assert isinstance(error, InternalServerError)
    assert "502 Bad Gateway" in error.detail
    assert "text/html" in error.detail
    assert len(error.detail) < 400
    assert error.request_id is None


def test_an_empty_body_gives_the_reason(drive) -> None:
    assert refused(drive, httpx.Response(403)).detail == "Forbidden."


def test_bytes_that_are_no_text_do_no_harm(drive) -> None:
    error = refused(drive, httpx.Response(500, content=b"\xff\xfe\x00\x1b[31m"))
    assert error.status_code == 500
    assert "\x1b" not in str(error)


def test_a_redirect_is_named(drive) -> None:
    error = refused(drive, httpx.Response(307, headers={"location": "https://elsewhere.example/"}))
    assert error.status_code == 307
    assert "https://elsewhere.example/" in error.detail


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<html>Please log in</html>"),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={**CREATED, "tags": "no list"}),
        httpx.Response(204),
    ],
)
def test_an_answer_that_was_not_expected_is_an_engram_error(drive, answer: httpx.Response) -> None:
    server = Server(answer)
    with pytest.raises(EngramError, match="POST /v1/memories: the answer") as caught:
        drive(server, lambda c: c.memories.create(AGENT_ID, "a"))
    assert not isinstance(caught.value, APIStatusError)
    assert len(server.requests) == 1


def test_an_answer_that_was_not_expected_names_the_field_and_hides_the_content(drive) -> None:
    server = Server({**CREATED, "content": ["a secret of somebody"]})
    with pytest.raises(EngramError, match="content") as caught:
        drive(server, lambda c: c.memories.create(AGENT_ID, "a"))
    assert "a secret of somebody" not in str(caught.value)


def test_a_newer_server_may_answer_more(drive) -> None:
    created = drive(Server({**CREATED, "mood": "sunny"}), lambda c: c.memories.create(AGENT_ID, "a"))
    assert created.id == MEMORY_ID


def test_a_body_that_cannot_be_decompressed_is_an_engram_error(drive) -> None:
    class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self):
            yield b"not gzip"

        async def __aiter__(self):
            yield b"not gzip"

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Broken())

    with pytest.raises(EngramError):
        drive(answer, lambda c: c.memories.get(MEMORY_ID))


def test_health_of_a_server_that_is_not_ready_is_an_answer(drive) -> None:
    report = {
        "status": "unavailable",
        "version": "0.1.0",
        "database": {"status": "down"},
        "embedder": {},
        "pending_links": None,
        "queue": {"depth": 3},
    }
    server = Server(httpx.Response(503, json=report))
    health = drive(server, lambda c: c.health())
    assert health.status == "unavailable"
    assert health["database"] == {"status": "down"}
    assert health["queue"] == {"depth": 3}
    assert len(server.requests) == 1


def test_health_behind_a_proxy_without_a_server_is_an_error(drive) -> None:
    with pytest.raises(InternalServerError):
        drive(Server(httpx.Response(503, html="<html>")), lambda c: c.health(), max_retries=0)


def test_errors_survive_pickling(drive) -> None:
    error = refused(drive, problem(429, **{"retry-after": "3"}))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is RateLimitError
    assert (str(copy), copy.errors, copy.retry_after) == (str(error), error.errors, 3.0)


def test_one_except_clause_catches_them_all(drive) -> None:
    with pytest.raises(engram.EngramError):
        drive(Server(httpx.ConnectError("refused")), lambda c: c.memories.get(MEMORY_ID), max_retries=0)
