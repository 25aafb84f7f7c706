"""Wire models of recall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from engram.graph.schemas import HopPenalty, PathStep, RelationType
from engram.memories.filters import MetadataFilter
from engram.memories.schemas import Memory
from engram.wire import (
    A_NUMBER,
    Embedding,
    Id,
    Instant,
    Label,
    Query,
    ResponseModel,
    Truth,
    Unit,
    WireModel,
)

_Labels = Annotated[list[Label], Field(max_length=64)]


class TagFilter(WireModel):
    """``any``: at least one of these; ``all``: every one of these; ``none``: not one of these; ``exact``: these and no
    other. An empty ``any`` matches nothing, an empty ``exact`` what has no tags."""

    any: _Labels | None = None
    all: _Labels | None = None
    none: _Labels | None = None
    exact: _Labels | None = None


def _bare_list(value: Any) -> Any:
    """A bare list means ``any``."""
    return {"any": list(value)} if isinstance(value, list | tuple) else value


Tags = Annotated[TagFilter, BeforeValidator(_bare_list, json_schema_input_type=TagFilter | _Labels)]


class RecallRequest(WireModel):
    agent_id: Id
    query: Query
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
    as_of: Instant | None = Field(default=None, description="Only what held at this instant.")
    known_at: Instant | None = Field(
        default=None, description="As the server knew it at this instant; later changes are not seen."
    )
    user_id: Label | None = None
    session_id: Label | None = None
    tags: Tags | None = None
    metadata: MetadataFilter | None = None
    valid_from: Instant | None = Field(default=None, description="Only memories that began at or after this.")
    valid_until: Instant | None = Field(default=None, description="Only memories that began before this.")
    min_score: Unit = 0.0
    diversity: Unit = Field(
        default=0.0,
        description="0 ranks by score alone. Above it, a hit much like one already chosen gives way to another "
        "(maximal marginal relevance), and hits stand in the order chosen.",
    )
    explain: Truth = False
    embedding: Embedding | None = Field(default=None, description="The query's embedding, if computed already.")

    @model_validator(mode="after")
    def _window(self) -> RecallRequest:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


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
