"""Heads of requests that are too large or never whole, and answers that nobody takes."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from engram.server.protocol import MAX_HEAD_BYTES, MAX_HEADERS, BoundedHttp
from tests.server.sockets import connected, everything
from tests.server.test_run import Start, start

__all__ = ["start"]

GET = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n\r\n"


def asked(url: str, *parts: bytes) -> bytes:
    with connected(url) as connection:
        for part in parts:
            connection.sendall(part)
        return everything(connection)


TOO_LARGE = {
    "a header": [GET + b"X-Long: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n"],
    "a header without end": [GET + b"X-Long: " + b"x" * MAX_HEAD_BYTES],
    "the name of one": [GET + b"x" * MAX_HEAD_BYTES + b": 1\r\n\r\n"],
    "all headers": [GET + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(70)) + b"\r\n"],
    "the number of headers": [GET + b"X: 1\r\n" * (MAX_HEADERS + 1) + b"\r\n"],
    "the address": [b"GET /" + b"x" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
    "the query": [b"GET /v1/agents?name=" + b"x" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
    "all of it in pieces": [GET + b"X-Long: ", *[b"x" * 1000] * 66],
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_head_that_is_too_large_is_refused_and_the_connection_closed(live_server: str, what: str) -> None:
    answer = asked(live_server, *TOO_LARGE[what])
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert b"content-type: application/problem+json" in head
    assert b"content-security-policy: default-src 'none'" in head
    assert json.loads(body)["type"] == "head-too-large"
    assert httpx.get(f"{live_server}/health/live").status_code == 200


def test_what_follows_a_body_is_no_header(live_server: str) -> None:
    chunked = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n"
    answer = asked(live_server, GET + chunked + b"X-Request-ID: of-a-trailer\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"of-a-trailer" not in answer


def test_a_head_that_is_large_but_not_too_large_is_read(live_server: str) -> None:
    many = b"".join(b"X-%d: %s\r\n" % (n, b"x" * 500) for n in range(MAX_HEADERS - 3))
    for headers in (b"X-Long: " + b"x" * (MAX_HEAD_BYTES - 1000) + b"\r\n", many):
        assert asked(live_server, GET + headers + CLOSE).startswith(b"HTTP/1.1 200 ")


def test_requests_on_one_connection_are_counted_each_by_itself(live_server: str) -> None:
    large = b"X-Long: " + b"x" * (MAX_HEAD_BYTES // 2) + b"\r\n"
    body = b'{"name": "x", "metadata": {"filler": "' + b"." * MAX_HEAD_BYTES + b'"}}'
    post = (
        b"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    requests = [GET + large + b"\r\n", post % len(body) + body] * 4
    answer = asked(live_server, *requests, GET + CLOSE)
    assert (answer.count(b"HTTP/1.1 200 OK"), answer.count(b"HTTP/1.1 201 Created")) == (8, 1)


def test_a_refusal_is_never_taken_for_the_answer_to_the_request_before(live_server: str) -> None:
    large = GET + b"X-Long: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n"
    assert not asked(live_server, GET + b"\r\n" + large).startswith(b"HTTP/1.1 431 ")


def test_what_follows_a_body_is_bounded_too(live_server: str) -> None:
    with connected(live_server) as connection:
        connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Trailer: ")
        trickle(connection, b"x" * 1000)
    assert httpx.get(f"{live_server}/health/live").status_code == 200


class TestClientsThatAreSlow:
    @pytest.fixture(autouse=True)
    def _little_patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(BoundedHttp, "head_seconds", 0.3)
        monkeypatch.setattr(BoundedHttp, "answer_seconds", 0.3)

    @pytest.mark.parametrize("said", [b"", b"\r\n", b"GET", GET, GET + b"X-Long: x"])
    def test_a_connection_without_a_whole_request_is_closed(self, live_server: str, said: bytes) -> None:
        assert asked(live_server, said) == b""

    @pytest.mark.parametrize("first", [b"", GET + b"X-Long: ", GET + b"\r\n" + GET + b"X-Long: "])
    def test_a_byte_now_and_then_does_not_keep_it_open(self, live_server: str, first: bytes) -> None:
        with connected(live_server) as connection:
            connection.sendall(first)
            trickle(connection, b"x" if first else b"\r\n")

    def test_nor_does_the_rest_of_a_body_that_was_refused(self, live_server: str) -> None:
        with connected(live_server) as connection:
            connection.sendall(POST + b"Content-Length: 1000000000\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
            trickle(connection, b"x")

    def test_a_connection_at_rest_between_requests_stays_open(self, live_server: str) -> None:
        with connected(live_server) as connection:
            connection.sendall(GET + b"\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            connection.settimeout(1)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(30)
            connection.sendall(GET + CLOSE)
            assert everything(connection).startswith(b"HTTP/1.1 200 ")

    @pytest.mark.parametrize("count", [1, 20])
    def test_an_answer_that_nobody_takes_is_given_up(self, live_server_with: Callable[..., str], count: int) -> None:
        """It is larger than what fits on the way, and so its request keeps its place as long as it waits."""
        url = live_server_with(max_concurrent_requests=1)
        # Where this process stands still for a moment, nobody asks while the answer waits.
        assert any(self._is_given_up(url, count) for _ in range(10))

    @staticmethod
    def _is_given_up(url: str, count: int) -> bool:
        """Whether another request was refused first, and then answered."""
        with socket.socket() as connection, httpx.Client(base_url=url) as client:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((client.base_url.host, client.base_url.port))
            # Of a client that takes its answers, none would ever meet another.
            connection.sendall(b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * count)
            answers: list[int] = []
            deadline = time.monotonic() + 5
            while answers[-2:] != [503, 200] and time.monotonic() < deadline:
                answers.append(client.get("/v1/agents").status_code)
        assert set(answers) <= {503, 200}
        return answers[-2:] == [503, 200]


def trickle(connection: socket.socket, piece: bytes) -> None:
    """Send again and again, until the other side hangs up. Fails where it never does."""
    connection.settimeout(0.02)
    for _ in range(1000):
        try:
            connection.sendall(piece)
            if connection.recv(65536) == b"":
                return
        except TimeoutError:
            continue
        except ConnectionError:
            return
    pytest.fail("the connection is still open")


def test_a_server_that_is_run_speaks_so(start: Start, database_url: str, tmp_path: Path) -> None:
    process = start(database_url=database_url)
    assert asked(process.url, *TOO_LARGE["a header"]).startswith(b"HTTP/1.1 431 ")
