"""Wire models of recall."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from engram.graph.schemas import HopPenalty, PathStep, RelationType
from engram.memories.criteria import PastCriteria
from engram.memories.schemas import Memory
from engram.wire import (
    A_NUMBER,
    Embedding,
    Id,
    Name,
    Query,
    ResponseModel,
    Truth,
    Unit,
)

MAX_ENTITIES_ASKED = 64


class SearchMode(StrEnum):
    hybrid = "hybrid"
    """By vector and words, and by the graph from there."""
    graph = "graph"
    """Only memories at entities that the query names, and one hop around these."""


class RecallRequest(PastCriteria):
    agent_id: Id
    query: Query
    search_mode: SearchMode = Field(
        default=SearchMode.hybrid,
        description="`graph`: only memories that name an entity of the query or of `entity_filter`, or one that occurs "
        "with it, and what is linked to these.",
    )
    entity_filter: list[Name] | None = Field(
        default=None,
        max_length=MAX_ENTITIES_ASKED,
        description="Memories that name any of these come up; in `graph` mode they stand for the names in the query.",
    )
    top_k: Annotated[int, Field(ge=1, le=200), A_NUMBER] = 10
    graph_weight: Unit = Field(default=0.4, description="0 ranks by vector alone, 1 by the graph alone.")
    max_hops: Annotated[int, Field(ge=0, le=5), A_NUMBER] = 2
    hop_penalty: HopPenalty | None = Field(
        default=None,
        description="What each hop costs; default: the agent's or the server's, 0.05 unless they say else.",
    )
    lexical: Truth = Field(default=True, description="Whether words that query and memory share count.")
    relation_types: list[RelationType] | None = Field(
        default=None, max_length=len(RelationType), description="Walk only these; an empty list walks none."
    )
    min_score: Unit = 0.0
    diversity: Unit = Field(
        default=0.0,
        description="0 ranks by score alone. Above it, a hit much like one already chosen gives way to another "
        "(maximal marginal relevance), and hits stand in the order chosen.",
    )
    explain: Truth = False
    embedding: Embedding | None = Field(default=None, description="The query's embedding, if computed already.")


class Alternative(ResponseModel):
    """A weaker chain that also leads to the memory."""

    score: float
    path: list[PathStep]


class Explanation(ResponseModel):
    """``vector_part + graph_part`` is the score. Ranks count from 1; null where the leg did not find it."""

    vector_part: float
    graph_part: float
    vector_rank: int | None
    lexical_rank: int | None
    graph_rank: int | None
    hop_penalty: float = Field(default=0.05, description="What each hop on the path cost.")
    anchor_score: float | None = Field(description="Score of the path's anchor; null without a path.")
    terms: list[str] = Field(
        description="Terms of the query that the memory has: stems, phrases, and fields (@name, #date)."
    )
    alternatives: list[Alternative]


class RecallHit(Memory):
    """A recalled memory. All scores are in [0, 1]; higher is better."""

    score: float
    vector_score: float
    lexical_score: float
    graph_score: float
    hops: int = Field(description="Edges on `path`; 0 where the query itself found the memory.")
    path: list[PathStep] = Field(
        description="Chain behind graph_score. At 0 hops empty, or one step: the name by which the query leads here."
    )
    explain: Explanation | None = None


class RecallResponse(ResponseModel):
    results: list[RecallHit]
    query: str
    took_ms: float
    truncated: bool = Field(
        description="A cap cut the walk short: more may be connected than was looked at. Or the results were too large "
        "to be shown together, and the last of them were left out."
    )

    def __iter__(self) -> Iterator[RecallHit]:  # type: ignore[override]  # a model iterates its fields
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)
