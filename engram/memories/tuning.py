"""The numbers that decide how a memory is stored. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class MemoryTuning:
    """Defaults are those of the product; raises ``ValidationError`` for a value out of its range."""

    passage_chars: Annotated[int, Field(ge=0, le=100_000)] = 200
    """Characters, 0 to 100,000, of a passage: a longer text is embedded by passages too; at 0 none is."""
