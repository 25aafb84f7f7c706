"""From rows of edges to what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.graph.decay import Decay
from engram.graph.schemas import Edge, RelationType


def fields_of(row: Mapping[str, Any], decay: Decay) -> dict[str, Any]:
    """The fields of an edge, from a row with ``source_id`` and ``target_id``, seen from its source."""
    return {
        **row,
        "source_memory_id": row["source_id"],
        "target_memory_id": row["target_id"],
        "decay_multiplier": decay.multipliers[RelationType(row["relation_type"])],
    }


def edge_of(row: Mapping[str, Any], decay: Decay) -> Edge:
    return Edge.model_validate(fields_of(row, decay))
