"""The lines of a set's files, as they are written. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engram.memories.schemas import Entities
from engram.wire import Content, Instant, Label, Query

Key = Annotated[str, Field(min_length=1)]

_CONFIG = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)


class Meta(BaseModel):
    """What a memory says of itself, apart from its text. Other fields are not read."""

    model_config = _CONFIG

    session: Label | None = None
    title: str | None = None


class MemoryRecord(BaseModel):
    """A line of ``memories.jsonl``. ``ns`` is the bank, one agent's memories, within which ``id`` is unique."""

    model_config = _CONFIG

    id: Key
    ns: Key = "all"
    text: Content
    ts: Instant | None = None
    meta: Meta | None = None
    entities: Entities = Field(default_factory=list)

    @property
    def session(self) -> str | None:
        return self.meta.session if self.meta else None


class ExtractionRecord(BaseModel):
    """A line of ``openie.jsonl``: what an extractor found in a memory. ``triples`` are subject, predicate, object."""

    model_config = _CONFIG

    id: Key
    ns: Key = "all"
    entities: list[str] = Field(default_factory=list)
    triples: list[list[str]] = Field(default_factory=list)


class QuestionRecord(BaseModel):
    """A line of ``queries.jsonl``. ``gold`` holds the ids, in the bank ``ns``, of the memories that answer it."""

    model_config = _CONFIG

    id: Key
    ns: Key = "all"
    query: Query
    gold: list[Key] = Field(default_factory=list)
    type: Key = "question"
