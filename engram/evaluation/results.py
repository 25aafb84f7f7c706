"""What is found out about a loaded set and about a variant, as it is kept and saved. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from engram.evaluation.variants import Variant
from engram.graph.schemas import RelationType


class Loaded(BaseModel):
    """How a set was loaded, and which edge types there are in it that Engram makes by itself. ``linked`` is false where
    some links could not be made, so that figures are not to be trusted."""

    seconds: float
    titles: int
    linked: bool
    edges: dict[RelationType, bool]


class Answers(BaseModel):
    """Of each question, by its id: the ids of what was found, best first, and how long that took."""

    rankings: dict[str, list[str]]
    took_ms: list[float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A variant on a set; ``answers`` is None where it leaves out an edge type of which the set has none."""

    variant: Variant
    loaded: Loaded
    answers: Answers | None
