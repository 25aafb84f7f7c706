"""Positional parameters of a statement that is put together from fixed fragments.

Only the text of fragments is ever joined; every value goes through here and travels apart from the SQL.
"""

from __future__ import annotations

from typing import Any


class Parameters:
    """Collects values and hands out their placeholders: ``p(5, "int")`` gives ``$1::int``.

    The same object given twice under one cast shares a placeholder.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[tuple[int, str], str] = {}

    def __call__(self, value: Any, cast: str) -> str:
        known = self._places.get((id(value), cast))
        if known is not None:
            return known
        self.values.append(value)
        place = f"${len(self.values)}::{cast}"
        self._places[id(value), cast] = place
        return place
