"""What a file is read into: drafts of memories, and what could not be read, each with its place in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from engram.cli.errors import faults
from engram.memories.schemas import MemoryItem
from engram.problems import FieldError


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as the file has it: fields of a ``MemoryItem``, not yet checked. ``place`` reads ``line 17``.

    ``session_id`` is that of the conversation it is a turn of, for where nothing else names one.
    """

    place: str
    fields: dict[str, Any]
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something malformed."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True, slots=True)
class Omission:
    """Something well-formed in which there is nothing to remember, such as a message without text."""

    place: str


Entry = Draft | Flaw | Omission


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a draft gets where it says nothing itself; ``tags`` are added to its own."""

    user_id: str | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()


def completed(draft: Draft, defaults: Defaults) -> MemoryItem | Flaw:
    """The memory that a draft means, or what is wrong with it."""
    fields = {name: value for name, value in draft.fields.items() if value is not None}
    session_id = defaults.session_id or draft.session_id
    if defaults.user_id is not None:
        fields.setdefault("user_id", defaults.user_id)
    if session_id is not None:
        fields.setdefault("session_id", session_id)
    tags = fields.get("tags", [])
    if defaults.tags and isinstance(tags, list):
        fields["tags"] = [*tags, *(tag for tag in defaults.tags if tag not in tags)]
    try:
        return MemoryItem.model_validate(fields)
    except ValidationError as error:
        return Flaw(draft.place, "; ".join(_told(fault) for fault in faults(error)))


def _told(fault: FieldError) -> str:
    return fault.message if fault.field == "body" else f"{fault.field}: {fault.message}"
