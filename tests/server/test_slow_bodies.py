"""Bodies that do not come, or too many at once."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from engram.server.middleware.bodies import BodyLimits
from tests.server.sockets import connected, everything

HEAD = b"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
BODY = b'{"name": "x"}'


@pytest.fixture
def impatient(live_server_with: Callable[..., str]) -> str:
    return live_server_with(body_timeout=0.3)


PARTS = {
    "nothing": b"Content-Length: 100\r\n\r\n",
    "some": b"Content-Length: 100\r\n\r\n" + BODY,
    "a chunk": b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "half a chunk": b"Transfer-Encoding: chunked\r\n\r\n200\r\n{}",
}


@pytest.mark.parametrize("part", PARTS)
def test_one_that_does_not_come_is_given_up_and_its_connection_closed(impatient: str, part: str) -> None:
    with connected(impatient) as connection:
        connection.sendall(HEAD + PARTS[part])
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert b'"type": "slow-body"' in answer


def test_one_that_comes_in_pieces_is_waited_for(impatient: str) -> None:
    with connected(impatient) as connection:
        connection.sendall(HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        for byte in BODY:
            connection.sendall(bytes([byte]))
        assert everything(connection).startswith(b"HTTP/1.1 201 ")


def test_one_that_trickles_is_given_up(impatient: str) -> None:
    """A byte now and then is not enough: at some time the answer comes, and the connection is closed."""
    with connected(impatient) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        connection.settimeout(0.05)
        answer = b""
        for _ in range(1000):
            try:
                connection.sendall(b" ")
                answer = connection.recv(65536)
                break
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_what_came_fast_buys_no_patience_for_the_rest(impatient: str) -> None:
    """A megabyte at the lowest rate would take minutes."""
    with connected(impatient) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * 900_000)
        connection.settimeout(0.05)
        answer = b""
        for _ in range(1000):
            try:
                connection.sendall(b" ")
                answer = connection.recv(65536)
                break
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_waits_for_its_answer_is_not_taken_for_a_slow_one() -> None:
    patience = 0.01
    messages: list[Message] = [{"type": "http.request", "body": b"{}", "more_body": False}]
    heard = []

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await asyncio.sleep(patience * 5)
        return {"type": "http.disconnect"}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        heard.extend([(await receive())["type"], (await receive())["type"]])

    async def send(message: Message) -> None:
        raise AssertionError

    await BodyLimits(app, 100, patience, 100)({"type": "http", "headers": []}, receive, send)
    assert heard == ["http.request", "http.disconnect"]


class TestManyAtOnce:
    LIMIT = 10_000

    @pytest.fixture
    def url(self, live_server_with: Callable[..., str]) -> str:
        return live_server_with(max_body_bytes=self.LIMIT, max_held_body_bytes=self.LIMIT, body_timeout=20)

    def test_one_for_which_no_memory_is_left_is_refused_until_there_is(self, url: str) -> None:
        # Where the other's half comes while one of ours is held, it is the other that is refused.
        assert any(self._is_refused_until_there_is(url) for _ in range(20))

    def _is_refused_until_there_is(self, url: str) -> bool:
        with httpx.Client(base_url=url) as client, connected(url) as other:
            half = b'{"name": "y", "metadata": {"filler": "' + b"." * (self.LIMIT // 2)
            other.sendall(HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (len(half) + 3) + half)
            body = b'{"name": "x"}'.ljust(self.LIMIT - 100)
            headers = {"content-type": "application/json"}
            while (response := client.post("/v1/agents", content=body, headers=headers)).is_success:
                # What the other sent has not been read yet, or never will be.
                if select.select([other], [], [], 0)[0]:
                    assert other.recv(65536).startswith(b"HTTP/1.1 503 ")
                    return False
            assert (response.status_code, response.json()["type"]) == (503, "unavailable")
            assert response.headers["retry-after"] == "1"
            other.sendall(b'"}}')
            assert everything(other).startswith(b"HTTP/1.1 201 ")
            assert client.post("/v1/agents", content=body, headers=headers).is_success
            return True
