"""Holds what the server shows against the ledger. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.reliability.ledger import Entry, Ledger, State
from engram.memories.schemas import Memory


def shown_wrongly(ledger: Ledger, agent_id: str, memories: Iterable[Memory], began: float) -> list[str]:
    """What is wrong with memories of an agent that were shown to a request which began then."""
    return [
        f"{wrong}: {memory.id} of agent {memory.agent_id}, asked of {agent_id}"
        for memory in memories
        if (wrong := _wrong(ledger, agent_id, memory, began))
    ]


def _wrong(ledger: Ledger, agent_id: str, memory: Memory, began: float) -> str | None:
    entry = ledger.by_id.get(memory.id) or ledger.by_content.get(memory.content)
    if entry is None:
        return "a text that nobody wrote"
    if memory.agent_id != agent_id or entry.agent_id != agent_id:
        return "a memory of another agent"
    if differs(entry, memory):
        return "a memory that differs from what was written"
    if entry.deleted_at is not None and entry.deleted_at < began:
        return "a memory whose deletion was acknowledged before"
    if entry.state is State.refused:
        return "a memory of which the answer said that it was not stored"
    return None


def differs(entry: Entry, memory: Memory) -> bool:
    item = entry.item
    written = (
        entry.agent_id,
        item["content"],
        item["user_id"],
        item["session_id"],
        item["tags"],
        item["metadata"],
        item["valid_from"],
    )
    shown = (
        memory.agent_id,
        memory.content,
        memory.user_id,
        memory.session_id,
        memory.tags,
        memory.metadata,
        memory.valid_from,
    )
    return written != shown or (entry.id is not None and entry.id != memory.id)


def missed(entry: Entry, memories: Sequence[Memory]) -> bool:
    """Whether a recall that asked for its very text did not find a memory that stood all the while."""
    return entry.state is State.stored and all(memory.id != entry.id for memory in memories)
