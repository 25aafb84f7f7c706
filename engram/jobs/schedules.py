"""What a worker does by the clock, whoever of several workers is first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

RECOVER = "* * * * * */15"
"""Every fifteen seconds: cron with seconds at the end."""

FORGET = "23 * * * *"
EXPIRE = "47 * * * *"
CLUSTER = "7 * * * *"


class PurgeExpired(Protocol):
    """Removes for good what was deleted so long ago that it cannot be restored, in batches."""

    async def __call__(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Periodic:
    """``when`` is a cron expression, with seconds at the end where it has six parts. ``work`` may be repeated;
    ``at_start`` does it as soon as a worker starts, too."""

    name: str
    when: str
    work: Callable[[], Awaitable[object]]
    at_start: bool = False
