"""When a job that failed is tried again, and when it is given up. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

LONGEST = timedelta(hours=1)
"""Between two attempts."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``attempts`` in all, at least one; ``first`` is the pause after the first of them, and doubles each time."""

    attempts: int
    first: timedelta

    def pause(self, attempt: int) -> timedelta | None:
        """How long to wait after that attempt, counted from 1, has failed; None where it was the last."""
        if attempt >= self.attempts:
            return None
        doubled: int = 2 ** min(attempt - 1, 20)
        return min(self.first * doubled, LONGEST)
