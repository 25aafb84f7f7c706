"""Wire models of communities."""

from __future__ import annotations

from pydantic import Field

from engram.wire import Instant, ResponseModel


class Community(ResponseModel):
    """Entities that occur with each other more than with the rest."""

    id: str = Field(description="The name of its strongest member: the one that occurs most within it.")
    display_name: str
    entities: int = Field(description="How many are in it.")
    members: list[str] = Field(description="Names of those that occur most.")


class Communities(ResponseModel):
    """The largest communities of one level, as they were computed last."""

    computed_at: Instant | None = Field(description="As the agent was then; null: never.")
    levels: int = Field(description="How many there are; 0 is the finest.")
    level: int
    data: list[Community]
