"""Wire models of agents."""

from __future__ import annotations

from pydantic import Field

from engram.graph.schemas import HopPenalty, Multipliers, RelationType
from engram.wire import Id, Instant, Metadata, Name, NewMetadata, Omissible, ResponseModel, WireModel


class AgentCreate(WireModel):
    name: Name = Field(description="Unique in the tenant. An agent of that name is returned if there is one.")
    metadata: NewMetadata = Field(default_factory=dict)
    language: str = Field(
        default="english",
        max_length=32,
        description="Language whose words are stemmed; 'none' stems nothing.",
    )
    decay_multipliers: Multipliers = Field(
        default_factory=dict, description="Shares, (0, 1], that hops keep, by relation; of others the server's."
    )
    hop_penalty: HopPenalty | None = Field(default=None, description="What each hop costs; null: the server's.")


class AgentUpdate(WireModel):
    """Only what is named changes."""

    name: Omissible[Name] = None
    metadata: Omissible[NewMetadata] = None
    decay_multipliers: Omissible[Multipliers] = Field(
        default=None, description="Replaced as a whole; an empty object goes back to the server's."
    )
    hop_penalty: HopPenalty | None = Field(default=None, description="Null goes back to the server's.")


class Agent(ResponseModel):
    id: Id
    name: str
    metadata: Metadata
    language: str
    decay_multipliers: dict[RelationType, float] = Field(
        default_factory=dict, description="By relation, where they are not the server's."
    )
    hop_penalty: float | None = Field(default=None, description="Null: the server's.")
    created_at: Instant
    updated_at: Instant


class AgentPage(ResponseModel):
    data: list[Agent]
    next_cursor: str | None = Field(description="Pass as `cursor` for the next page; null on the last.")


class ProjectionStats(ResponseModel):
    """Memories to which links of one kind are owed."""

    pending: int = Field(description="Not tried yet.")
    failed: int = Field(description="Tried in vain; a job tries again.")
    dead: int = Field(description="Given up after the last attempt, until the job is retried.")


class AgentStats(ResponseModel):
    agent_id: Id
    memories: int = Field(description="Memories that are current.")
    memories_by_status: dict[str, int] = Field(default_factory=dict, description="All memories.")
    edges: int = Field(description="Stored edges; temporal and entity links are computed and not counted.")
    edges_by_type: dict[str, int] = Field(default_factory=dict, description="The same by relation type.")
    entities: int
    facts: int = Field(default=0, description="Facts that are believed and that none superseded.")
    facts_by_status: dict[str, int] = Field(
        default_factory=dict, description="All facts: `standing`, `superseded`, `deleted` and `undone`."
    )
    merges: int = Field(default=0, description="Merges of names that stand.")
    postings: int = Field(default=0, description="Entries in the index of words.")
    pending_links: int = Field(description="Memories whose links could not be made yet; they are retried.")
    projections: dict[str, ProjectionStats] = Field(
        default_factory=dict, description="The same by what is to be made, without what is owed to none."
    )
