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


class AgentStats(ResponseModel):
    agent_id: Id
    memories: int = Field(description="Memories that are current.")
    edges: int = Field(description="Stored edges; temporal and entity links are computed and not counted.")
    entities: int
    pending_links: int = Field(description="Memories whose links could not be made yet; they are retried.")
