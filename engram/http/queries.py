"""Query parameters that lists have in common."""

from __future__ import annotations

from pydantic import Field

from engram.paging import DEFAULT_LIMIT, Cursor, Limit
from engram.wire import Omissible, WireModel


class PageQuery(WireModel):
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Items per page.")
    cursor: Omissible[Cursor] = Field(default=None, description="`next_cursor` of the page before; default: the first.")
