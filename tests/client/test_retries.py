"""Trying again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import APIConnectionError, APITimeoutError, EngramError, InternalServerError, RateLimitError
from engram.client._retries import RetryPolicy

from .answers import AGENT_ID, CREATED, DETAIL, MEMORY_ID, Server


def unavailable(status: int = 503, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"detail": "not now"}, headers=headers)


def get(client):
    return client.memories.get(MEMORY_ID)


TROUBLES = {
    "refused": httpx.ConnectError("refused"),
    "reset": httpx.ReadError("reset"),
    "hung up": httpx.RemoteProtocolError("hung up"),
    "slow to connect": httpx.ConnectTimeout("slow"),
    "slow to answer": httpx.ReadTimeout("slow"),
    "no free connection": httpx.PoolTimeout("busy"),
    **{str(status): unavailable(status) for status in (408, 429, 500, 502, 503, 504)},
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
def test_what_may_pass_is_tried_twice_again(drive, pauses, trouble) -> None:
    server = Server(trouble, trouble, DETAIL)
    assert drive(server, get).id == MEMORY_ID
    assert len(server.requests) == 3
    assert len(pauses) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_a_refusal_is_not_tried_again(drive, pauses, status: int) -> None:
    server = Server(unavailable(status))
    with pytest.raises(EngramError):
        drive(server, get)
    assert len(server.requests) == 1
    assert pauses == []


def test_after_the_last_try_the_error_is_the_servers(drive, pauses) -> None:
    server = Server(unavailable())
    with pytest.raises(InternalServerError, match="503: not now"):
        drive(server, get)
    assert len(server.requests) == 3


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_the_number_of_retries_can_be_set(drive, pauses, retries: int) -> None:
    server = Server(unavailable())
    with pytest.raises(InternalServerError):
        drive(server, get, max_retries=retries)
    assert len(server.requests) == retries + 1
    assert len(pauses) == retries


def test_an_unreachable_server_is_named_without_the_password(drive, pauses) -> None:
    server = Server(httpx.ConnectError("connection refused"))
    with pytest.raises(APIConnectionError, match=r"http://memory\.example.*connection refused") as caught:
        drive(server, get, base_url="http://user:s3cret@memory.example")
    assert "s3cret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


def test_a_time_out_is_both_a_time_out_and_a_connection_error(drive, pauses) -> None:
    with pytest.raises(APITimeoutError, match="timed out") as caught:
        drive(Server(httpx.ReadTimeout("")), get)
    assert isinstance(caught.value, APIConnectionError)


def test_a_request_that_is_our_own_fault_is_not_tried_again(drive, pauses) -> None:
    server = Server(httpx.LocalProtocolError("illegal header"))
    with pytest.raises(EngramError, match="illegal header"):
        drive(server, get)
    assert len(server.requests) == 1


def test_all_tries_of_a_write_carry_one_idempotency_key_and_body(drive, pauses) -> None:
    server = Server(unavailable(), httpx.ReadTimeout("slow"), CREATED)
    drive(server, lambda c: c.memories.create(AGENT_ID, "a"))
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
    assert len({request.content for request in server.requests}) == 1
    assert len(server.requests) == 3


def test_two_writes_carry_two_idempotency_keys(drive) -> None:
    server = Server(CREATED)
    drive(server, lambda c: c.memories.create(AGENT_ID, "a"))
    drive(server, lambda c: c.memories.create(AGENT_ID, "a"))
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 2


@pytest.mark.parametrize("seconds", ["7", "0", "1.5", "60"])
def test_retry_after_in_seconds_is_waited_for(drive, pauses, seconds: str) -> None:
    drive(Server(unavailable(429, **{"retry-after": seconds}), DETAIL), get)
    assert pauses == [float(seconds)]


def test_retry_after_as_a_date_is_waited_for(drive, pauses) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    drive(Server(unavailable(503, **{"retry-after": moment}), DETAIL), get)
    (pause,) = pauses
    assert 0 < pause <= 40
    assert pause > 8  # not the back-off's


@pytest.mark.parametrize("wish", ["61", "1e9", format_datetime(datetime(2999, 1, 1, tzinfo=UTC), usegmt=True)])
def test_a_wait_too_long_to_block_for_is_left_to_the_caller(drive, pauses, wish: str) -> None:
    server = Server(unavailable(429, **{"retry-after": wish}))
    with pytest.raises(RateLimitError) as caught:
        drive(server, get)
    assert pauses == []
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 60


@pytest.mark.parametrize("wish", ["soon", "-1", "nan", "inf", "", "Wed, 01 Jan 2020 00:00:00 GMT", "99 Foo 2020"])
def test_a_retry_after_that_says_nothing_leaves_the_back_off(drive, pauses, wish: str) -> None:
    drive(Server(unavailable(429, **{"retry-after": wish}), DETAIL), get)
    (pause,) = pauses
    assert 0.5 <= pause <= 1


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_the_back_off_stays_between_half_a_second_and_eight(attempt: int, chance: float) -> None:
    delay = RetryPolicy(100_000, jitter=lambda: chance).delay(attempt, APIConnectionError("refused"))
    assert delay is not None
    assert 0.5 <= delay <= 8


def test_the_back_off_doubles_and_is_spread() -> None:
    error = APIConnectionError("refused")
    shortest = [RetryPolicy(9, jitter=lambda: 0.0).delay(attempt, error) for attempt in range(6)]
    longest = [RetryPolicy(9, jitter=lambda: 1.0).delay(attempt, error) for attempt in range(6)]
    assert shortest == [0.5, 1, 2, 4, 4, 4]
    assert longest == [1, 2, 4, 8, 8, 8]


def test_pauses_differ_from_call_to_call(drive, pauses) -> None:
    for _ in range(10):
        drive(Server(unavailable(), DETAIL), get)
    assert len(set(pauses)) > 1
