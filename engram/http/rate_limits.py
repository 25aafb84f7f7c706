"""Refusing keys that ask too often."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from functools import lru_cache
from typing import Protocol
from uuid import UUID

from limits.limits import RateLimitItem
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from engram.http.problems import RateLimitedProblem
from engram.problems import ConfigurationProblem
from engram.rates import parse_rate

MAX_COUNTERS = 50_000
"""A key that asks has two, one a window. Beyond that many some are forgotten, and their keys begin anew."""


class RateLimits(Protocol):
    async def check(self, key_id: UUID, rate: str | None) -> None:
        """Count a request. ``rate`` is the key's own, if it has one.

        Raises RateLimitedProblem where it is one too many, which is not counted; and ConfigurationProblem for a rate
        that is none.
        """


class RateLimiter(RateLimits):
    """Counts the requests of each key in a window that slides, in the memory of this process.

    Of several servers on one database each counts what it is asked itself.
    """

    def __init__(self, default: str | None = None) -> None:
        """``default`` is the rate of keys that have none of their own; None: no limit.

        Raises ConfigurationProblem for one that is no rate.
        """
        self._default = default
        if default is not None:
            _rate(default, "ENGRAM_RATE_LIMIT")
        self._counters = _Counters()
        self._strategy = SlidingWindowCounterRateLimiter(self._counters)

    def __len__(self) -> int:
        """How many counters are kept."""
        return len(self._counters.storage)

    async def check(self, key_id: UUID, rate: str | None) -> None:
        wanted = rate or self._default
        if wanted is None:
            return
        item, caller = _rate(wanted, "The rate limit of this key"), str(key_id)
        if not self._strategy.hit(item, caller):
            reset = self._strategy.get_window_stats(item, caller).reset_time
            wait = max(0, math.floor(reset - time.time())) + 1  # not at that moment, but after it
            raise RateLimitedProblem(f"More than {item} with this key. Try again in {wait} s.", retry_after=wait)


class _Counters(MemoryStorage):
    """The library's own start a thread for most requests, which looks through all counters for what is over."""

    def __init__(self) -> None:
        super().__init__()
        self.expirations: OrderedDict[str, float] = OrderedDict()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        count = self.get(key) + amount
        self.storage[key] = count
        if count == amount:
            now = time.time()
            self.expirations[key] = now + expiry
            self._tidy(now)
        return count

    def _tidy(self, now: float) -> None:
        """For each new counter look at two others, in turn: so they are no more than those that are needed."""
        for _ in range(2):
            key, end = self.expirations.popitem(last=False)
            if end <= now or len(self.expirations) >= MAX_COUNTERS:
                self.storage.pop(key, None)
            else:
                self.expirations[key] = end


@lru_cache(maxsize=1024)
def _rate(text: str, name: str) -> RateLimitItem:
    try:
        return parse_rate(text)
    except ValueError as error:
        raise ConfigurationProblem(f"{name} {error}.") from None
