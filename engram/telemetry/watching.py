"""Who is watching: an app's telemetry, found by whatever runs in the context of its requests and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.telemetry.instruments import Instruments

if TYPE_CHECKING:
    from engram.telemetry.tracing import Tracing


@dataclass(slots=True, eq=False)
class Telemetry:
    """Of one app. ``tracing`` is None where OpenTelemetry is off."""

    instruments: Instruments = field(default_factory=Instruments)
    tracing: Tracing | None = None


_WATCHING: ContextVar[Telemetry | None] = ContextVar("engram_telemetry", default=None)

current = _WATCHING.get
"""The telemetry of the context that asks; None where nobody is watching."""


@contextmanager
def watching(telemetry: Telemetry) -> Iterator[None]:
    """What happens in the block, and in tasks and threads that it starts, is recorded by ``telemetry``."""
    token = _WATCHING.set(telemetry)
    try:
        yield
    finally:
        _WATCHING.reset(token)
