"""The numbers that decide what a recall finds, apart from what a request may set. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class RecallTuning:
    """Defaults are those of the product; raises ``ValidationError`` for a value out of its range."""

    anchors: Annotated[int, Field(ge=1, le=1000)] = 20
    """Memories, 1 to 1000, that each leg, vector and words, gives to the walk to start from."""

    pool_floor: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Memories, 1 to 10,000, that each arm offers at least; it always offers twice ``top_k``."""

    fan_out: Annotated[int, Field(ge=1, le=10_000)] = 24
    """Edges, 1 to 10,000, that a walk follows from one memory, strongest first."""

    frontier: Annotated[int, Field(ge=1, le=10_000)] = 32
    """Memories, 1 to 10,000, that a walk goes on from at each hop, best first. More find nothing
    more: docs/evaluation.md has the table."""

    passages: bool = True
    """Whether the passage of a longer memory that is nearest to the query counts where it is nearer than the whole."""

    names: bool = True
    """Whether a name that stands in the query leads to the memories about its entity."""

    entity_vectors: Annotated[float | None, Field(ge=0, le=1)] = None
    """Weight, 0 to 1, of an entity whose vector is near the query's, beside 1 for one that the query names; at 0 none
    leads anywhere, and no vectors are made. None: what the setting of that name says."""

    entity_vectors_floor: Annotated[float, Field(ge=0, lt=1)] = 0.3
    """Cosine, 0 to below 1, up to which an entity is not near. What it is worth grows from 0 there to 1."""

    bm25_k1: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 0.9
    """BM25's k1, 0 to 100: how slowly a term's repetitions saturate; at 0 they count for nothing. Okapi BM25 as in
    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009)."""

    bm25_b: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.4
    """BM25's b, 0 to 1: how much a text's length is held against it."""

    about_weight: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 1.0
    """Weight, 0 to 100, of a query's word as a name that a memory is about, beside its weight of 1 as a word of the
    text; at 0 names are not asked for. Such a term counts by its idf alone."""

    phrase_weight: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 0.3
    """Weight, 0 to 100, of two neighbouring words of a query that stand beside each other in a text too; at 0 they are
    not asked for."""

    date_weight: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 1.0
    """Weight, 0 to 100, of a period that a query names; at 0 dates are not asked for."""
