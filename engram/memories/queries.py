"""Criteria as query parameters: tags one parameter a kind, metadata as JSON in text."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, model_validator

from engram.http.queries import PageQuery
from engram.memories.criteria import PastCriteria, TagFilter, TagList, check_window
from engram.memories.filters import MetadataFilter
from engram.memories.schemas import MemoryStatus
from engram.wire import Id, Instant, Label, Omissible

_FILTER: TypeAdapter[dict[str, Any]] = TypeAdapter(MetadataFilter)


def _read(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"must be a JSON object: {error.msg} (column {error.colno})") from None
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object, such as {"field": {"gte": 3}}')
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("must not name a field twice")
    return found


def _checked(text: str) -> str:
    _FILTER.validate_python(_read(text))
    return text


def _empty_list(value: Any) -> Any:
    """Given once and empty: a list of none, which no repetition could say."""
    return [] if value == [""] else value


_MetadataText = Annotated[str, AfterValidator(_checked)]
_Tags = Annotated[TagList, BeforeValidator(_empty_list, json_schema_input_type=TagList)]


class MemoryQuery(PageQuery):
    agent_id: Id
    user_id: Omissible[Label] = None
    session_id: Omissible[Label] = None
    key: Omissible[Label] = Field(default=None, description="Only what this key names.")
    key_prefix: Omissible[Label] = Field(default=None, description="Only what has a key that begins so.")
    source: Omissible[Label] = None
    tag: Omissible[TagList] = Field(default=None, description="May be repeated: memories that have all of these.")
    tag_any: Omissible[_Tags] = Field(default=None, description="May be repeated: those that have any of these.")
    tag_none: Omissible[_Tags] = Field(default=None, description="May be repeated: those that have none of these.")
    tag_exact: Omissible[_Tags] = Field(
        default=None, description="May be repeated: those that have these and no other; empty: those without tags."
    )
    metadata: Omissible[_MetadataText] = Field(
        default=None,
        description="What must hold of the metadata, as JSON.",
        examples=['{"age": {"gte": 3, "lt": 9}}'],
    )
    valid_from: Omissible[Instant] = Field(default=None, description="Only memories that began at or after this.")
    valid_until: Omissible[Instant] = Field(default=None, description="Only memories that began before this.")
    as_of: Omissible[Instant] = Field(default=None, description="Only what held at this instant.")
    known_at: Omissible[Instant] = Field(default=None, description="As the server knew it at this instant.")
    updated_since: Omissible[Instant] = Field(default=None, description="Only what was written or changed since.")
    status: Omissible[MemoryStatus] = Field(
        default=None, description="Only of this status; `current` unless given, or any with `as_of`."
    )
    include_total: bool = Field(default=False, description="Count all that match.")

    @model_validator(mode="after")
    def _window(self) -> MemoryQuery:
        check_window(self.valid_from, self.valid_until)
        return self

    def criteria(self) -> PastCriteria:
        """What must hold, as a recall would be told."""
        tags = {"any": self.tag_any, "all": self.tag, "none": self.tag_none, "exact": self.tag_exact}
        given = self.model_dump(include=set(PastCriteria.model_fields) - {"tags", "metadata"})
        return PastCriteria(
            **given,
            tags=TagFilter(**tags) if any(value is not None for value in tags.values()) else None,
            metadata=_read(self.metadata) if self.metadata is not None else None,
        )
