"""Keys that ask too often."""

from __future__ import annotations

import math
from uuid import UUID, uuid4

import pytest
from limits.storage import memory
from pydantic import ValidationError

from engram.http import rate_limits
from engram.http.problems import RateLimitedProblem
from engram.http.rate_limits import MAX_COUNTERS, RateLimiter
from engram.problems import ConfigurationProblem
from engram.server.app import create_app
from engram.server.errors import problem_response
from engram.settings import Settings


class Clock:
    """A time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0  # the beginning of a minute and of an hour

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.time", clock.time)
    assert memory.time.time is rate_limits.time.time
    return clock


async def allowed(limiter: RateLimiter, key: UUID, attempts: int, rate: str | None = None) -> int:
    """How many of these attempts at the same moment are let through."""
    passed = 0
    for _ in range(attempts):
        try:
            await limiter.check(key, rate)
            passed += 1
        except RateLimitedProblem:
            pass
    return passed


async def test_no_more_than_the_rate_are_let_through(clock: Clock) -> None:
    assert await allowed(RateLimiter("5/minute"), uuid4(), 20) == 5


async def test_without_a_rate_all_are(clock: Clock) -> None:
    assert await allowed(RateLimiter(), uuid4(), 1000) == 1000


async def test_each_key_is_counted_by_itself(clock: Clock) -> None:
    limiter = RateLimiter("5/minute")
    keys = [uuid4(), uuid4()]
    assert [await allowed(limiter, key, 20) for key in keys] == [5, 5]
    assert [await allowed(limiter, key, 1) for key in keys] == [0, 0]


async def test_the_rate_of_a_key_counts_more_than_the_setting(clock: Clock) -> None:
    limiter = RateLimiter("5/minute")
    assert await allowed(limiter, uuid4(), 20, "2/minute") == 2
    assert await allowed(limiter, uuid4(), 20, "8/hour") == 8
    assert await allowed(RateLimiter(), uuid4(), 20, "3/second") == 3


async def test_the_window_slides(clock: Clock) -> None:
    """Twice the rate cannot be had around the end of a minute."""
    limiter, key = RateLimiter("60/minute"), uuid4()
    clock.now += 59
    assert await allowed(limiter, key, 100) == 60
    clock.now += 2
    assert await allowed(limiter, key, 100) <= 2
    clock.now += 30
    assert 25 <= await allowed(limiter, key, 100) <= 35
    clock.now += 120
    assert await allowed(limiter, key, 100) == 60


async def test_it_says_when_to_come_back(clock: Clock) -> None:
    limiter, key = RateLimiter("3/minute"), uuid4()
    clock.now += 20
    assert await allowed(limiter, key, 5) == 3
    for _ in range(10):
        with pytest.raises(RateLimitedProblem) as caught:
            await limiter.check(key, None)
        header = problem_response(caught.value).headers["retry-after"]
        assert header.isdigit()
        assert 1 <= int(header) <= 60
        clock.now += int(header)
        assert await allowed(limiter, key, 1) == 1, "it may again when it was told"
        await allowed(limiter, key, 5)


async def test_a_refused_request_is_not_counted(clock: Clock) -> None:
    limiter, key = RateLimiter("3/minute"), uuid4()
    await allowed(limiter, key, 1000)
    clock.now += 120
    assert await allowed(limiter, key, 5) == 3


async def test_very_many_keys_take_bounded_memory(clock: Clock) -> None:
    limiter = RateLimiter("5/minute")
    for number in range(100_000):
        await limiter.check(UUID(int=number), None)
    assert len(limiter) <= MAX_COUNTERS
    assert await allowed(limiter, UUID(int=99_999), 10) == 4


async def test_counters_that_are_over_go(clock: Clock) -> None:
    limiter = RateLimiter("5/minute")
    for number in range(1000):
        await limiter.check(UUID(int=number), None)
        await limiter.check(UUID(int=number), "9/day")
    clock.now += 600
    for number in range(5000, 7000):
        await limiter.check(UUID(int=number), None)
    assert len(limiter) <= 3100, "the minutes of the first thousand are over, their days and the others are not"


WRONG = ("often", "5", "5/fortnight", "0/minute", "-1/minute", "5/second; 9/minute", "1.5/second", "9" * 5000 + "/day")


@pytest.mark.parametrize("rate", WRONG)
async def test_what_is_no_rate_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, rate: str) -> None:
    with pytest.raises(ConfigurationProblem, match="ENGRAM_RATE_LIMIT must be"):
        RateLimiter(rate)
    with pytest.raises(ConfigurationProblem, match="of this key must be"):
        await RateLimiter().check(uuid4(), rate)
    with pytest.raises(ConfigurationProblem, match="ENGRAM_RATE_LIMIT must be"):
        create_app(Settings().model_copy(update={"rate_limit": rate}))
    monkeypatch.setenv("ENGRAM_RATE_LIMIT", rate)
    with pytest.raises(ValidationError, match="rate_limit"):
        Settings()


async def test_rates_may_be_written_in_words(clock: Clock) -> None:
    for rate in ("6/minute", "6 per minute", "6/1minute", " 6 / minutes ", "6 PER 15 MINUTES"):
        assert await allowed(RateLimiter(rate), uuid4(), 10) == 6, rate


def test_blank_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_RATE_LIMIT", " ")
    assert Settings().rate_limit is None


def test_a_wait_is_told_in_whole_seconds() -> None:
    for seconds, said in ((0.0, "1"), (0.2, "1"), (1.0, "1"), (1.01, "2"), (59.3, "60")):
        assert problem_response(RateLimitedProblem("x", retry_after=seconds)).headers["retry-after"] == said
    assert "retry-after" not in problem_response(RateLimitedProblem("x", retry_after=math.nan)).headers
