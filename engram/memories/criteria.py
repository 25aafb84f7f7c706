"""Which memories are meant: one description for recalls, lists, counts and deletions.

Pure: what each criterion means in SQL stands in ``memories/predicates.py``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from engram.memories.filters import MetadataFilter
from engram.wire import Instant, Label, WireModel

MAX_TAGS_ASKED = 64

TagList = Annotated[list[Label], Field(max_length=MAX_TAGS_ASKED)]


class TagFilter(WireModel):
    """``any``: at least one of these; ``all``: every one of these; ``none``: not one of these; ``exact``: these and no
    other. An empty ``any`` matches nothing, an empty ``exact`` what has no tags."""

    any: TagList | None = None
    all: TagList | None = None
    none: TagList | None = None
    exact: TagList | None = None

    @property
    def restricts(self) -> bool:
        """Whether some memory could be left out: an empty ``all`` or ``none`` leaves out nothing."""
        return self.any is not None or self.exact is not None or bool(self.all) or bool(self.none)


def _bare_list(value: Any) -> Any:
    """A bare list means ``any``."""
    return {"any": list(value)} if isinstance(value, list | tuple) else value


Tags = Annotated[TagFilter, BeforeValidator(_bare_list, json_schema_input_type=TagFilter | TagList)]


def check_window(valid_from: datetime | None, valid_until: datetime | None) -> None:
    """Raises ValueError where nothing could begin between the two."""
    if valid_from and valid_until and valid_until <= valid_from:
        raise ValueError("valid_until must be later than valid_from")


class Criteria(WireModel):
    """What must hold of a memory: all of what is given."""

    user_id: Label | None = None
    session_id: Label | None = None
    key: Label | None = Field(default=None, description="Only what this key names.")
    key_prefix: Label | None = Field(default=None, description="Only what has a key that begins so.")
    source: Label | None = None
    tags: Tags | None = None
    metadata: MetadataFilter | None = None
    valid_from: Instant | None = Field(default=None, description="Only memories that began at or after this.")
    valid_until: Instant | None = Field(default=None, description="Only memories that began before this.")
    as_of: Instant | None = Field(default=None, description="Only what held at this instant.")
    updated_since: Instant | None = Field(
        default=None, description="Only what was written or changed at or after this, as far as it is seen at all."
    )

    @model_validator(mode="after")
    def _window(self) -> Criteria:
        check_window(self.valid_from, self.valid_until)
        return self

    @property
    def restricts(self) -> bool:
        """Whether a memory could be left out for what it is; when it holds does not count."""
        labels = (self.user_id, self.session_id, self.key, self.key_prefix, self.source)
        moments = (self.valid_from, self.valid_until, self.updated_since)
        return (
            any(value is not None for value in (*labels, *moments))
            or (self.tags is not None and self.tags.restricts)
            or bool(self.metadata)
        )


class PastCriteria(Criteria):
    """The same for a read, which may look back."""

    known_at: Instant | None = Field(
        default=None, description="As the server knew it at this instant; later changes are not seen."
    )
