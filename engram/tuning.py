"""What decides what recall finds, put together from its rooms. No user's settings: the evaluation varies them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engram.graph.tuning import GraphTuning
from engram.memories.tuning import MemoryTuning
from engram.recall.tuning import RecallTuning

EntityRecognition = Literal["off", "known", "rules"]
"""How names are found in texts; see the setting of that name."""

WRITE_TIME = frozenset({"passage_chars", "thematic_degree", "thematic_min_bytes", "thematic_threshold"})
"""Fields that decide what is stored when a memory arrives. The others act when something is asked. Of
``entity_vectors`` it matters here whether it is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    recall: RecallTuning = field(default_factory=RecallTuning)
    graph: GraphTuning = field(default_factory=GraphTuning)
    memory: MemoryTuning = field(default_factory=MemoryTuning)
