"""Wire models of the entity graph."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from engram.facts.schemas import Predicate, Provenance
from engram.wire import A_NUMBER, Id, Instant, Name, ResponseModel, Truth, Unit, WireModel

MAX_HOPS = 4


class RankBy(StrEnum):
    """By what a hop keeps the best of what a node occurs with."""

    co_occur = "co_occur"
    """How often they occur together."""
    specificity = "specificity"
    """That, of all that the other occurs in."""
    cosine = "cosine"
    """That, by the square root of all that the other occurs in."""


class Side(StrEnum):
    first = "first"
    second = "second"


class TripleDirection(StrEnum):
    """How a triple is walked."""

    out = "out"
    """From its subject to its object."""
    into = "in"
    """From its object to its subject."""


Relations = Annotated[list[Predicate], Field(min_length=1, max_length=64)]


class EntityQuestion(WireModel):
    agent_id: Id
    as_of: Instant | None = Field(
        default=None, description="Only what was observed in memories that held at this moment; default: now."
    )
    min_co_occur: Annotated[int, Field(ge=1, le=2**31 - 1), A_NUMBER] = Field(
        default=1, description="Observations of a pair, at least."
    )
    labeled: Truth = Field(default=False, description="Walk over triples, in place of what occurs together.")
    relations: Relations | None = Field(default=None, description="The same, over triples of these relations only.")


class TraverseRequest(EntityQuestion):
    """A walk over what occurs together, trimmed at every hop before it goes on."""

    seed_entity: Name
    max_hops: Annotated[int, Field(ge=1, le=MAX_HOPS), A_NUMBER] = 2
    top_k_per_hop: Annotated[int, Field(ge=1, le=100), A_NUMBER] = Field(
        default=20, description="Of what a node occurs with, so many are kept."
    )
    max_nodes: Annotated[int, Field(ge=1, le=5000), A_NUMBER] = 400
    hub_degree: Annotated[int, Field(ge=0, le=2**31 - 1), A_NUMBER] = Field(
        default=0, description="A node of at least this degree is a hub; 0: that makes none."
    )
    hub_share: Unit | None = Field(
        default=None,
        description="A node is a hub where it was reached by at most this share of its degree; 0: that makes none. "
        "Default: the server's, 0.01 unless it says else.",
    )
    rank_by: RankBy | None = Field(default=None, description="Default: the server's, `cosine` unless it says else.")


class TraverseNode(ResponseModel):
    """An entity, at the first hop that reaches it, through its strongest parent."""

    name: str
    display_name: str
    hop: int
    hub: bool = Field(description="So common that the walk does not go on from it.")
    score: float = Field(description="What it was kept by, as `rank_by` has it.")
    via_co_occur: int = Field(description="How often it occurs with its parent.")
    cumulative_weight: int = Field(description="The sum of that over the path.")
    degree: int = Field(description="Observations of pairs that it is in, of memories that hold on.")
    path: list[str] = Field(description="Names, from the seed on.")
    valid_from: Instant | None = Field(description="When the first memory began that shows it with its parent.")
    valid_until: Instant | None = Field(description="When the last of these ends; null: one holds on.")
    community_id: str | None = Field(
        default=None, description="The community it is in, by the name of its strongest member; null: in none."
    )
    via_relation: str | None = Field(
        default=None, description="Of triples: how it relates to its parent, as most memories have it."
    )
    via_direction: TripleDirection | None = Field(default=None, description="`out`: its parent is the subject.")
    via_provenance: Provenance | None = None


class Traversal(ResponseModel):
    """Nodes by hop, then by score. The seed is none; each path begins with it."""

    seed: str
    found: bool
    nodes: list[TraverseNode]
    hubs: list[str] = Field(description="Names of nodes that are hubs.")
    truncated: bool = Field(description="There are more nodes than may be shown.")


class EntityPathRequest(EntityQuestion):
    source: Name
    target: Name
    max_hops: Annotated[int, Field(ge=1, le=MAX_HOPS), A_NUMBER] = 3


class EntityPathEdge(ResponseModel):
    source: str
    target: str
    co_occur: int
    valid_from: Instant | None
    valid_until: Instant | None
    relation: str | None = Field(default=None, description="Of triples: what most memories say of the two.")
    direction: TripleDirection | None = Field(default=None, description="`out`: the source is the subject.")
    provenance: Provenance | None = None


class EntityPath(ResponseModel):
    """The shortest chain; of these the one with the most co-occurrences, then by names."""

    source: str
    target: str
    found: bool
    path: list[str]
    edges: list[EntityPathEdge]
    truncated: bool = Field(description="A bound cut the search short: not found may be not so.")


class RelatedEntity(ResponseModel):
    name: str
    display_name: str
    co_occur: int
    degree: int
    side: Side = Field(description="Where the entity asked about stands in the pair as it is stored.")


class RelatedEntities(ResponseModel):
    """What occurs with an entity, the most often first."""

    entity: str
    found: bool
    data: list[RelatedEntity]
    next_cursor: str | None
