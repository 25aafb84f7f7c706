"""Wire model of the health page."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from engram.wire import ResponseModel


class HealthReport(ResponseModel):
    """Whether the server can do its work. Parts that this version does not know are kept."""

    model_config = ConfigDict(extra="allow")

    status: str = Field(description="`ok` where all parts are.")
    version: str | None = None
    database: dict[str, Any] = Field(default_factory=dict)
    embedder: dict[str, Any] = Field(default_factory=dict)
    pending_links: int | None = Field(
        default=None,
        description="Memories whose links could not be made yet; null where it cannot be known, and where there are "
        "API keys.",
    )

    def __getitem__(self, name: str) -> Any:
        return {**self.__dict__, **(self.model_extra or {})}[name]
