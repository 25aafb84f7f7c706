"""What was written and deleted, and what is known of it: the truth that answers are held against. Pure.

A write whose answer was lost may have happened or not: both are right, until it is repeated and acknowledged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any


class State(StrEnum):
    sent = "sent"
    stored = "stored"  # acknowledged
    refused = "refused"  # the answer said that nothing was stored
    unknown = "unknown"  # the answer was lost, or did not say
    deleting = "deleting"
    maybe_deleted = "maybe deleted"
    deleted = "deleted"  # acknowledged


@dataclass(slots=True, eq=False)
class Entry:
    """A memory as it was written. ``deleted_at`` is when its deletion was acknowledged."""

    agent_id: str
    item: dict[str, Any]
    state: State = State.sent
    id: str | None = None
    deleted_at: float | None = None

    @property
    def content(self) -> str:
        content: str = self.item["content"]
        return content


@dataclass(slots=True, eq=False)
class Write:
    """What one call writes: all of its entries are stored, or none."""

    entries: list[Entry]
    repeated: bool = False

    def settle(self, state: State) -> None:
        """What an answer without ids says of all. An answer that was lost before leaves nothing certain but success."""
        for entry in self.entries:
            if not (state is State.refused and entry.state is State.unknown):
                entry.state = state

    def resending(self) -> None:
        """Note that the call is about to be repeated."""
        self.repeated = True
        for entry in self.entries:
            entry.state = State.sent if entry.state is State.refused else entry.state


@dataclass(slots=True)
class Edge:
    """An edge that was asserted and acknowledged."""

    source: Entry
    target: Entry
    relation: str


@dataclass(slots=True)
class Ledger:
    writes: list[Write] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    by_content: dict[str, Entry] = field(default_factory=dict)
    by_id: dict[str, Entry] = field(default_factory=dict)
    stored: defaultdict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    """By agent: all that were acknowledged, those deleted since among them."""
    erased: list[str] = field(default_factory=list)
    """Agents whose deletion was acknowledged."""

    def sending(self, agent_id: str, items: Iterable[dict[str, Any]]) -> Write:
        """Note that a call with new texts is about to be sent."""
        write = Write([Entry(agent_id, item) for item in items])
        self.writes.append(write)
        self.by_content |= {entry.content: entry for entry in write.entries}
        return write

    def acknowledged(self, write: Write, ids: Iterable[str]) -> None:
        for entry, id in zip(write.entries, ids, strict=True):
            entry.state, entry.id = State.stored, id
            self.by_id[id] = entry
            self.stored[entry.agent_id].append(entry)

    def pick(self, random: Random, agent_id: str, *, standing: bool = True) -> Entry | None:
        """One of the agent's acknowledged memories; ``standing``: that nobody has begun to delete."""
        entries = self.stored[agent_id]
        for _ in range(10 if entries else 0):
            entry = random.choice(entries)
            if not standing or entry.state is State.stored:
                return entry
        return None
