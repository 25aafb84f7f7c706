"""How requests fared around a disturbance. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reliability.plan import Cause, Disturbance
from benchmarks.reliability.samples import Sample

ENOUGH = 0.95
GRACE_SECONDS = 10.0
"""How long after a dependency is back a failure is still explained by it: so long a request waits for a connection."""

_WINDOW_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """Seconds since the dependency was back. ``first`` is until a request that was sent after the first failure
    succeeded, ``steady`` until of the requests of any two seconds 95 % did; None where that did not come about."""

    failed: int
    first: float | None
    steady: float | None


def recovery(disturbance: Disturbance, samples: Sequence[Sample]) -> Recovery:
    """Of the requests that need what was away, in any order."""
    began, ended = disturbance.began, disturbance.ended
    concerned = sorted(
        (one for one in samples if one.ended > began and _needs(one, disturbance)), key=lambda one: one.ended
    )
    failures = [one for one in concerned if not one.ok and one.began < ended + GRACE_SECONDS]
    if not failures:
        return Recovery(0, 0.0, 0.0)
    # Before a dependency is away nothing fails; and an embedder that fails now and then is not back yet.
    since = max(failures[0].ended, ended if disturbance.cause is Cause.embedder else began)
    first = next((one.ended for one in concerned if one.ok and one.began >= since), None)
    return Recovery(
        len(failures),
        max(0.0, first - ended) if first is not None else None,
        _steady(concerned, max(since, ended), ended),
    )


def _steady(concerned: Sequence[Sample], since: float, ended: float) -> float | None:
    """Until the first success that is followed by enough of them for a while."""
    after = [one for one in concerned if one.ended >= since]
    ends = [one.ended for one in after]
    for at, one in enumerate(after):
        window = after[at : bisect_left(ends, one.ended + _WINDOW_SECONDS)]
        if one.ok and sum(other.ok for other in window) >= ENOUGH * len(window):
            return max(0.0, one.ended - ended)
    return None


def explained(sample: Sample, disturbances: Sequence[Disturbance]) -> bool:
    """Whether a failure comes of a dependency that was away, or back only just now."""
    return any(
        sample.of_embedder == (one.cause is Cause.embedder)
        and sample.ended > one.began
        and sample.began < one.ended + GRACE_SECONDS
        for one in disturbances
    )


def _needs(sample: Sample, disturbance: Disturbance) -> bool:
    return sample.kind.embeds or disturbance.cause.of_database
