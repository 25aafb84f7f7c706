"""Wire models of an agent's taxonomy."""

from __future__ import annotations

from pydantic import Field

from engram.entities.communities.schemas import Communities
from engram.wire import Id, ResponseModel


class TaxonomyEntity(ResponseModel):
    name: str
    display_name: str
    degree: int = Field(description="Observations of pairs that it is in, of memories that hold on.")
    memories: int = Field(description="Memories that name it, superseded ones too.")


class Taxonomy(ResponseModel):
    """Entities of the highest degree first, then by name."""

    agent_id: Id
    entities: list[TaxonomyEntity]
    communities: Communities = Field(description="Entities that belong together, where that was computed.")
    truncated: bool = Field(description="There are more entities.")
