"""Each variant of a run against the baselines it should beat, question by question. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from engram.evaluation.metrics import Measured
from engram.evaluation.significance import Difference, differences

BASELINES = ("vector+lexical", "vector")

Verdicts = dict[str, dict[str, Difference]]
"""Differences by baseline and metric."""


EXTRACTED_AGAINST = "full"
"""What a variant that writes what was extracted should beat as well: the same recall without."""


def verdicts(measured: Mapping[str, Measured], extracted: Collection[str] = ()) -> dict[str, Verdicts]:
    """For each variant, by name, its differences from the baselines that were measured too. ``extracted`` are those
    that write what was extracted."""
    return {
        name: {
            baseline: by_metric(one, measured[baseline])
            for baseline in (*([EXTRACTED_AGAINST] if name in extracted else []), *BASELINES)
            if baseline in measured and baseline != name
        }
        for name, one in measured.items()
    }


def by_metric(of: Measured, against: Measured) -> dict[str, Difference]:
    """How much better ``of`` is, by metric; both have the same questions and metrics in the same order."""
    return dict(zip(of.metrics, differences(of.values, against.values), strict=True))
