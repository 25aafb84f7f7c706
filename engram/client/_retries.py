"""Whether to try again, and when."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from engram.client._errors import APIConnectionError, APIStatusError, EngramError

SHORTEST, LONGEST = 0.5, 8.0
"""Seconds between which the back-off stays."""

PATIENCE = 60.0
"""The longest ``Retry-After``, in seconds, that is waited for. The caller decides about a longer one."""

_DOUBLINGS = 4  # from SHORTEST to LONGEST


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try again, and how long to wait before. ``jitter`` gives numbers in [0, 1)."""

    max_retries: int
    jitter: Callable[[], float] = random.random

    def delay(self, attempt: int, error: EngramError) -> float | None:
        """Seconds to wait after the given attempt (from 0) failed; None where it is not to be tried again."""
        if attempt >= self.max_retries or not _passes(error):
            return None
        wished = error.retry_after if isinstance(error, APIStatusError) else None
        if wished is not None:
            return wished if wished <= PATIENCE else None
        longest = min(SHORTEST * 2.0 ** min(attempt + 1, _DOUBLINGS), LONGEST)
        return longest * (1 + self.jitter()) / 2


def _passes(error: EngramError) -> bool:
    if isinstance(error, APIStatusError):
        return error.status_code in (408, 429) or error.status_code >= 500
    return isinstance(error, APIConnectionError)


def parse_retry_after(text: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a ``Retry-After`` header asks to wait; None where missing, past or not understood."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
