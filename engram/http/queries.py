"""Query parameters that lists have in common."""

from __future__ import annotations

from pydantic import Field

from engram.paging import DEFAULT_LIMIT, MAX_CURSOR_CHARS, Limit
from engram.wire import WireModel


class PageQuery(WireModel):
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Items per page.")
    cursor: str | None = Field(
        default=None, max_length=MAX_CURSOR_CHARS, description="`next_cursor` of the page before; default: the first."
    )
