"""How much may be kept for each of many owners in a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MAX_OWNERS = 10_000
"""Beyond that many the one that was seen first begins anew."""


class Budget:
    """``limit`` for each owner in each period of ``seconds``, which begins with its first use."""

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._spent: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def allows(self, owner: Hashable, amount: int) -> bool:
        """Whether so much may be spent, which then is."""
        now = self._clock()
        end, spent = self._spent.get(owner, (0.0, 0))
        if now >= end:
            self._spent.pop(owner, None)
            end, spent = now + self._seconds, 0
        if spent + amount > self._limit:
            return False
        self._spent[owner] = end, spent + amount
        while len(self._spent) > MAX_OWNERS:
            self._spent.popitem(last=False)
        return True
