"""Counting what happened, for whoever is watching."""

from __future__ import annotations

from engram.telemetry.names import Purpose
from engram.telemetry.watching import current


def recalled(*, candidates: int, truncated: bool) -> None:
    """A recall was answered from so many candidates; ``truncated``: a cap cut its walk short."""
    if (telemetry := current()) is not None:
        telemetry.instruments.recall_candidates.observe(candidates)
        telemetry.instruments.recalls_truncated.inc(truncated)


def memories_written(*, created: int, deduplicated: int) -> None:
    """So many memories were stored, and so many stood already."""
    if (telemetry := current()) is not None:
        telemetry.instruments.memories_written.inc(created)
        telemetry.instruments.memories_deduplicated.inc(deduplicated)


def facts_written(number: int) -> None:
    """So many facts were stored."""
    if (telemetry := current()) is not None:
        telemetry.instruments.facts_written.inc(number)


def projection_failed(name: str) -> None:
    if (telemetry := current()) is not None:
        telemetry.instruments.projection_failures.labels(name).inc()


def statement_was_slow() -> None:
    if (telemetry := current()) is not None:
        telemetry.instruments.slow_statements.inc()


def embedded(purpose: Purpose, seconds: float, *, problem: str | None = None) -> None:
    """The embedder was asked; ``problem`` is the type of the problem where it failed."""
    if (telemetry := current()) is not None:
        telemetry.instruments.embedder[purpose].observe(seconds)
        if problem is not None:
            telemetry.instruments.embedder_failures.labels(purpose, problem).inc()
