"""Computing one number from many, batch by batch. Pure, and work for a thread.

Nothing depends on the order in which rows are read: sums are rounded once, at their end, and of equal extremes the
latest counts.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engram.facts.quantities.schemas import MAX_ROWS, QuantityOp
from engram.facts.quantities.units import BARE, IncompatibleUnitsError, conversion, is_logarithmic, is_offset

_ADDS = (QuantityOp.sum, QuantityOp.avg)


@dataclass(frozen=True, slots=True)
class Row:
    """A number as it is kept."""

    id: UUID
    memory_id: UUID
    value: float
    unit: str | None
    at: datetime


class UncomputableError(ValueError):
    """What was asked for cannot be told of these numbers; the message says why."""


class Computing:
    """Takes rows, the latest first. Raises UncomputableError for the first that cannot be told in the unit."""

    def __init__(self, op: QuantityOp, unit: str | None, *, converts: bool, named_by: UUID | None = None) -> None:
        """``unit`` is that of the answer; ``named_by`` is the memory that it is taken from, where nobody asked for it.
        Without ``converts`` rows are only counted."""
        self.rows: list[tuple[Row, float | None]] = []
        """What is shown."""
        self.count = 0
        self._op = op
        self.unit = unit
        self._converts = converts
        self._named_by = named_by
        self._values = array("d")
        self._best: tuple[Row, float] | None = None
        self._latest: float | None = None
        if op in _ADDS and is_logarithmic(unit):
            raise UncomputableError(f"{unit} is logarithmic: its numbers are no amounts, and have no {op}")
        if op is QuantityOp.sum and is_offset(unit):
            raise UncomputableError(_no_sum(unit))

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            converted = self._converted(row) if self._converts else None
            self.count += 1
            if len(self.rows) < MAX_ROWS:
                self.rows.append((row, converted))
            if converted is None:
                continue
            if self._latest is None:
                self._latest = converted
            if self._op in _ADDS:
                self._values.append(converted)
            if self._beats(converted):
                self._best = row, converted

    def value(self) -> float | None:
        """What all rows come to; None where there is none. Raises UncomputableError where it is too large a number."""
        if self._op is QuantityOp.count:
            return float(self.count)
        if self._op in _ADDS and self.count:
            return self._total()
        if self._op is QuantityOp.latest:
            return self._latest
        return self._best[1] if self._best is not None else None

    def shown(self) -> list[tuple[Row, float | None]]:
        """The rows of the answer."""
        if self._op not in (QuantityOp.min, QuantityOp.max) or self._best is None:
            return self.rows
        first = self._best
        return [first, *(shown for shown in self.rows if shown[0].id != first[0].id)][:MAX_ROWS]

    def _beats(self, value: float) -> bool:
        if self._op is QuantityOp.min:
            return self._best is None or value < self._best[1]
        return self._op is QuantityOp.max and (self._best is None or value > self._best[1])

    def _total(self) -> float:
        share = len(self._values) if self._op is QuantityOp.avg else 1
        try:
            total = math.fsum(self._values) / share
        except OverflowError:
            # The mean of what is large is no larger, though its sum may be too large.
            total = math.fsum(value / share for value in self._values) if share > 1 else math.inf
        if not math.isfinite(total):
            raise UncomputableError("the sum is beyond what a number can hold: ask for a larger unit")
        return total

    def _converted(self, row: Row) -> float:
        if self._op is QuantityOp.sum and is_offset(row.unit):
            raise UncomputableError(_no_sum(row.unit))
        try:
            value = conversion(row.unit, self.unit)(row.value)
        except IncompatibleUnitsError:
            raise UncomputableError(self._apart(row)) from None
        if not math.isfinite(value):
            raise UncomputableError(
                f"{row.value} {row.unit or BARE}, as memory {row.memory_id} says, is no number in {self.unit or BARE}"
            )
        return value

    def _apart(self, row: Row) -> str:
        whose = f", as memory {self._named_by} says it" if self._named_by is not None else ""
        return (
            f"{row.unit or BARE}, as memory {row.memory_id} says it, does not convert to {self.unit or BARE}{whose}:"
            " ask for a unit, a time or an attribute in which all are alike"
        )


def _no_sum(unit: str | None) -> str:
    return f"{unit} is a scale whose zero is not nothing: its numbers have no sum; ask for avg, min or max"
