"""Wire models of the memory graph."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from engram.memories.schemas import MemoryStatus
from engram.wire import A_NUMBER, Id, Instant, Label, Note, ResponseModel, WireModel


class RelationType(StrEnum):
    entity_link = "entity_link"
    causal = "causal"
    temporal = "temporal"
    thematic = "thematic"
    contradicts = "contradicts"
    supports = "supports"
    derived_from = "derived_from"
    supersedes = "supersedes"


class Direction(StrEnum):
    """How an edge runs, seen from the memory asked about; ``both`` where the relation has no direction."""

    out = "out"
    incoming = "in"
    both = "both"


Multiplier = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False), A_NUMBER]

Multipliers = dict[RelationType, Multiplier]
"""The share of a score that a hop over an edge of each type keeps."""

HopPenalty = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False), A_NUMBER]


class EdgeCreate(WireModel):
    """Reads "source RELATION target". Writing it again keeps the greater weight."""

    source_id: Id
    target_id: Id
    relation_type: RelationType
    weight: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False), A_NUMBER] = 1.0
    label: Label | None = Field(default=None, description="A name of the writer's own, such as `depends_on`.")
    reason: Note | None = None
    valid_from: Instant | None = None
    valid_until: Instant | None = None

    @model_validator(mode="after")
    def _sane(self) -> EdgeCreate:
        if self.source_id == self.target_id:
            raise ValueError("source_id and target_id must differ")
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


MAX_EDGE_BATCH = 1000


class EdgeBatch(WireModel):
    """Edges of one agent. What says the same edge again counts as written after it."""

    edges: list[EdgeCreate] = Field(min_length=1, max_length=MAX_EDGE_BATCH)


class Edge(ResponseModel):
    """An edge, seen from the memory asked about. ``target_memory_id`` is the other end."""

    relation_type: RelationType
    source_memory_id: Id = Field(description="The memory asked about.")
    target_memory_id: Id = Field(description="The other end.")
    direction: Direction
    weight: float = Field(description="(0, 1], walking from the memory asked about.")
    decay_multiplier: float
    origin: str = Field(description="thematic, temporal, entity, supersession, asserted, or llm:<model>.")
    entity: str | None = Field(default=None, description="The shared entity of an entity_link.")
    label: str | None = None
    reason: str | None = None
    valid_from: Instant | None = None
    valid_until: Instant | None = Field(
        default=None, description="When it ceases to hold: itself, or one of its ends that was superseded."
    )
    recorded_at: Instant | None = None
    invalidated_at: Instant | None = Field(default=None, description="Since when it is taken out of the graph.")


class EdgePage(ResponseModel):
    data: list[Edge]
    next_cursor: str | None


class EdgeDeleted(ResponseModel):
    source_id: Id
    target_id: Id
    relation_type: RelationType
    invalidated_at: Instant


class EdgeWritten(Edge):
    """``created``: the edge is new, or was deleted before; otherwise it stood."""

    created: bool


class EdgesCreated(ResponseModel):
    """What became of each edge of a batch, in the order given: as it stands after all of them."""

    results: list[EdgeWritten]
    created: int


class PathStep(ResponseModel):
    """One memory on a path, and the edge by which it is reached. The first is reached by none. Where a query names an
    entity that a memory is about, at 0 hops, the step says so."""

    memory_id: Id
    relation_type: RelationType | None = None
    direction: Direction | None = None
    weight: float | None = None
    multiplier: float | None = None
    entity: str | None = None


class GraphNode(ResponseModel):
    """A memory, in short, with its place around another."""

    id: Id
    hops: int = Field(description="Fewest edges from the memory asked about.")
    strength: float = Field(description="What the best way of so many hops keeps, [0, 1].")
    content: str = Field(description="The beginning of the text.")
    content_truncated: bool = Field(description="Whether the text goes on.")
    status: MemoryStatus
    key: str | None
    user_id: str | None
    session_id: str | None
    tags: list[str]
    valid_from: Instant
    valid_until: Instant | None
    recorded_at: Instant


class Neighborhood(ResponseModel):
    """Memories around one, which is the first: by hops, then the strongest first. Edges among them, each once, the
    strongest first: seen from its source, or where it has no direction and weighs more one way, from that end."""

    memory_id: Id
    nodes: list[GraphNode]
    edges: list[Edge]
    hop_penalty: float
    truncated: bool = Field(description="A cap cut it short: there are more memories or edges than are shown.")


class PathOrder(StrEnum):
    strongest = "strongest"
    shortest = "shortest"


class GraphPath(ResponseModel):
    """``strength``: the product, over its hops, of ``(1 - hop_penalty) * weight * multiplier``."""

    strength: float
    hops: int
    steps: list[PathStep]


class GraphPaths(ResponseModel):
    source_id: Id
    target_id: Id
    paths: list[GraphPath]
    hop_penalty: float
    truncated: bool = Field(description="A cap cut the search short: there may be other paths, and better ones.")
