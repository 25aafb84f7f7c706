"""After the load: whether all that was acknowledged is there, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.reliability.ledger import Entry, Ledger, State
from benchmarks.reliability.load import Faults, Load
from benchmarks.reliability.truth import differs
from benchmarks.reliability.writing import RELATIONS
from engram import AsyncEngram
from engram.client import NotFoundError
from engram.memories.schemas import Memory

_AT_ONCE = 8
_READ_ONE_BY_ONE = 2_000
"""How many deleted memories, standing ones and edges are asked for singly; all are held against the lists."""

T = TypeVar("T")


@dataclass(slots=True)
class Verdict:
    """``standing`` and ``deleted`` count what was acknowledged, ``open`` what may or may not have happened."""

    standing: int = 0
    deleted: int = 0
    open: int = 0
    refused: int = 0
    batches: int = 0
    edges: int = 0
    lost: Faults = field(default_factory=Faults)
    undead: Faults = field(default_factory=Faults)
    altered: Faults = field(default_factory=Faults)
    torn: Faults = field(default_factory=Faults)
    unwritten: Faults = field(default_factory=Faults)


async def verify(engram: AsyncEngram, load: Load) -> Verdict:
    """Read everything there is, and hold it against the ledger."""
    ledger, verdict = load.ledger, Verdict()
    present: dict[str, list[Memory]] = {}
    for agent_id in load.agents.values():
        async for memory in engram.memories.list(agent_id, limit=200):
            present.setdefault(memory.content, []).append(memory)
    _compare(ledger, present, verdict)
    entries = [entry for write in ledger.writes for entry in write.entries]
    gone = [entry for entry in entries if entry.state is State.deleted]
    standing = [entry for entry in entries if entry.state is State.stored]
    await _each(_some(gone), lambda entry: _is_gone(engram, entry, verdict))
    await _each(_some(standing), lambda entry: _stands(engram, entry, verdict))
    await _each(ledger.erased, lambda agent_id: _is_erased(engram, agent_id, verdict))
    await _edges(engram, ledger, verdict)
    return verdict


def _compare(ledger: Ledger, present: dict[str, list[Memory]], verdict: Verdict) -> None:
    for content, memories in present.items():
        entry = ledger.by_content.get(content)
        if entry is None:
            verdict.unwritten(f"{memories[0].id}: nobody wrote this text")
        if len(memories) > 1:
            verdict.unwritten(f"{memories[0].id}: stored {len(memories)} times")
    for write in ledger.writes:
        for entry in write.entries:
            _judge(entry, present.get(entry.content, []), verdict)
        # What was deleted since was stored; it is acknowledged as a whole.
        there = [
            entry.content in present
            for entry in write.entries
            if entry.state not in (State.deleted, State.deleting, State.maybe_deleted)
        ]
        verdict.batches += len(write.entries) > 1
        if any(there) and not all(there):
            verdict.torn(f"a batch of {len(write.entries)} is there with {sum(there)} of {len(there)}")


def _judge(entry: Entry, memories: list[Memory], verdict: Verdict) -> None:
    if any(differs(entry, memory) for memory in memories):
        verdict.altered(f"{entry.id or memories[0].id} differs from what was written")
    if entry.state is State.stored:
        verdict.standing += 1
        if not memories:
            verdict.lost(f"{entry.id} was acknowledged, and is not there")
    elif entry.state is State.deleted:
        verdict.deleted += 1
        if memories:
            verdict.undead(f"{entry.id} was acknowledged as deleted, and is there")
    elif entry.state is State.refused:
        verdict.refused += 1
        if memories:
            verdict.unwritten(f"{memories[0].id} is there, although the answer said that nothing was stored")
    else:
        verdict.open += 1


async def _stands(engram: AsyncEngram, entry: Entry, verdict: Verdict) -> None:
    try:
        if differs(entry, await engram.memories.get(str(entry.id))):
            verdict.altered(f"{entry.id} differs from what was written when it is read alone")
    except NotFoundError:
        verdict.lost(f"{entry.id} was acknowledged, and cannot be read")


async def _is_gone(engram: AsyncEngram, entry: Entry, verdict: Verdict) -> None:
    try:
        await engram.memories.get(str(entry.id))
    except NotFoundError:
        return
    verdict.undead(f"{entry.id} was acknowledged as deleted, and can be read")


async def _is_erased(engram: AsyncEngram, agent_id: str, verdict: Verdict) -> None:
    try:
        await engram.agents.get(agent_id)
    except NotFoundError:
        return
    verdict.undead(f"agent {agent_id} was acknowledged as erased, and can be read")


async def _edges(engram: AsyncEngram, ledger: Ledger, verdict: Verdict) -> None:
    standing = [edge for edge in ledger.edges if edge.source.state is edge.target.state is State.stored]
    asked = _some(standing)
    seen: set[tuple[str, str, str]] = set()

    async def read(source: Entry) -> None:
        async for edge in engram.graph.get_edges(str(source.id), relation_type=RELATIONS, limit=200):
            seen.add((str(source.id), edge.target_memory_id, edge.relation_type.value))

    await _each({id(edge.source): edge.source for edge in asked}.values(), read)
    verdict.edges = len(asked)
    for edge in asked:
        if (str(edge.source.id), str(edge.target.id), edge.relation) not in seen:
            verdict.lost(f"the edge {edge.relation} from {edge.source.id} to {edge.target.id} was acknowledged")


def _some(things: Iterable[T]) -> list[T]:
    """Some of many, from the beginning to the end."""
    found = list(things)
    return found[:: max(1, len(found) // _READ_ONE_BY_ONE)]


async def _each(things: Iterable[T], check: Callable[[T], Awaitable[None]]) -> None:
    """Check all, a few at once."""
    rest = iter(things)

    async def work() -> None:
        for thing in rest:
            await check(thing)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())
