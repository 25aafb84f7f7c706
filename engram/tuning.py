"""What decides what recall finds, put together from its rooms. No user's settings: the evaluation varies them."""

from __future__ import annotations

from dataclasses import dataclass, field

from engram.graph.tuning import GraphTuning
from engram.recall.tuning import RecallTuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    recall: RecallTuning = field(default_factory=RecallTuning)
    graph: GraphTuning = field(default_factory=GraphTuning)
