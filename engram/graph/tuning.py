"""The numbers that decide which edges there are, and how strong. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class GraphTuning:
    """Defaults are those of the product; raises ``ValidationError`` for a value out of its range.

    The ``thematic_`` fields decide what is stored when a memory arrives, the others what is
    computed when one is asked for.
    """

    thematic_degree: Annotated[int, Field(ge=0, le=100)] = 5
    """Nearest neighbours, 0 to 100, that a memory is linked to when it arrives."""

    thematic_threshold: Annotated[float, Field(ge=-1, lt=1, allow_inf_nan=False)] | None = None
    """Cosine, in [-1, 1), above which memories are linked; None: the embedder's own."""

    thematic_min_bytes: Annotated[int, Field(ge=0, le=100_000)] = 24
    """Bytes of UTF-8, 0 to 100,000, that a memory must have to be linked by theme: what is shorter ("Thanks, bye!") is
    near all that is short, and about nothing."""

    temporal_weight: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.8
    """Weight, in (0, 1], of the link between neighbours in a session."""

    answer_weight: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    """Weight, in (0, 1], of that link from a turn that asks something toward the next one: most questions are answered
    by what is said next (the adjacency pairs of Schegloff and Sacks, "Opening up Closings", 1973)."""

    hub_size: Annotated[int, Field(ge=0, le=100_000)] = 50
    """Memories, 0 to 100,000. An entity that more of them name is a hub: it leads only toward those about it."""

    specificity: bool = True
    """Whether a link through an entity weighs ``1 / (1 + ln(memories that name it))`` where the memory it leads to only
    mentions the entity; otherwise 1."""
