"""Figures beside those of an earlier report: what became worse is marked. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.figures import Figure

TOLERATED = 0.20
"""A figure that became worse by more is a regression: on a machine that others use too, less may be chance."""


@dataclass(frozen=True, slots=True)
class Change:
    """``worse`` is by how much the value became worse, as a share of what it was; below 0 it became better."""

    before: float
    after: float
    worse: float

    @property
    def regressed(self) -> bool:
        return self.worse > TOLERATED


def changes(before: Iterable[Figure], after: Iterable[Figure]) -> dict[tuple[str, int, int, str], Change]:
    """By key, of all figures that both have and that can be compared by ratio."""
    old = {figure.key: figure for figure in before}
    return {
        figure.key: _change(old[figure.key], figure)
        for figure in after
        if figure.key in old and old[figure.key].value > 0 and figure.value > 0
    }


def _change(before: Figure, after: Figure) -> Change:
    ratio = after.value / before.value
    return Change(before.value, after.value, (1 / ratio if after.better == "higher" else ratio) - 1)
