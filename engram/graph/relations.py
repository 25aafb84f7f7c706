"""The eight relations, and what a hop over each costs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engram.graph.schemas import RelationType

MULTIPLIERS: Mapping[RelationType, float] = MappingProxyType(
    {
        RelationType.entity_link: 0.98,
        RelationType.causal: 0.97,
        RelationType.temporal: 0.97,
        RelationType.thematic: 0.95,
        RelationType.contradicts: 0.95,
        RelationType.supports: 0.96,
        RelationType.derived_from: 0.96,
        RelationType.supersedes: 0.94,
    }
)
"""Decay multipliers: a hop keeps this share of the score that it carries."""

UNDIRECTED = frozenset({RelationType.thematic, RelationType.contradicts, RelationType.entity_link})
