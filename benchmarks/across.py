"""Figures that no single store has: what a write costs in a large store beside a small one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import Figure, Sheet, at_most

FLAT = "single write, 1 at once p50"
_UP_TO = 100_000


def flatness(figures: Sequence[Figure]) -> list[Figure]:
    """The median of single writes at the largest size, up to 100,000 memories, beside the smallest."""
    writes = sorted(
        (one for one in figures if one.name == FLAT and one.size.memories <= _UP_TO), key=lambda one: one.size.memories
    )
    if len(writes) < 2:
        return []
    small, large = writes[0], writes[-1]
    sheet = Sheet(large.run, large.size)
    beside = (f"with {small.size}", small.value)
    sheet.add("single write, flat over size", large.value, "ms", beside=beside, target=at_most(1.5))
    return sheet.figures
