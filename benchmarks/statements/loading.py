"""A knowledge graph as what memories state: written by the product, triple by triple, about three a memory."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from benchmarks.store import Store
from engram.agents.schemas import AgentCreate
from engram.memories.schemas import MemoryBatch
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

AGENT = "agent-000000"
_BATCH = 250
_AT_ONCE = 2


def stated(directory: Path, memories: int) -> list[dict[str, Any]]:
    """So many memories, of which each states what comes next of the triples. Raises OSError."""
    names = {number: identifier.removeprefix("/").replace("/", "") for number, identifier in _entities(directory)}
    triples = [
        (names[head], f"relation_{relation}", names[tail])
        for part in ("train", "valid", "test")
        for head, relation, tail in _rows(directory / f"{part}.tsv.gz")
    ]
    Random("statements").shuffle(triples)
    share = min(8.0, len(triples) / memories)
    return [_memory(triples[int(at * share) : int((at + 1) * share)]) for at in range(memories)]


def _memory(triples: list[tuple[str, str, str]]) -> dict[str, Any]:
    return {
        "content": ". ".join(" ".join(triple) for triple in triples),
        "entities": list(dict.fromkeys(end for head, _, tail in triples for end in (head, tail))),
        "relations": triples,
    }


def _entities(directory: Path) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in _rows(directory / "entities.tsv.gz")]


def _rows(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


async def load(store: Store, services: Services, directory: Path, memories: int, said: Callable[[str], object]) -> UUID:
    """The agent; written where it is not there yet."""
    known = await store.agent_ids()
    if known:
        return UUID(known[0])
    # It gets its name when it is whole: a load that was cut off is not taken for one.
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name=f"loading {time.time_ns()}"))
    items = stated(directory, memories)
    # Nothing is looked for by meaning here: a vector without a direction is in no index.
    nowhere = [0.0] * services.embedder.model.dimension
    batches = iter([items[start : start + _BATCH] for start in range(0, len(items), _BATCH)])
    began, written = time.perf_counter(), 0

    async def write() -> None:
        nonlocal written
        for batch in batches:
            request = [{**item, "embedding": nowhere} for item in batch]
            await services.memories.create_many(
                DEFAULT_SCOPE, MemoryBatch.model_validate({"agent_id": agent.id, "items": request})
            )
            written += len(batch)
            if written % (40 * _BATCH) == 0:
                said(f"{written:,} memories, {written / (time.perf_counter() - began):,.0f} a second")

    await asyncio.gather(*(write() for _ in range(_AT_ONCE)))
    async with store.connection() as connection:
        await connection.execute("UPDATE agents SET name = $2 WHERE id = $1", UUID(agent.id), AGENT)
        await connection.execute("VACUUM (ANALYZE)")
    return UUID(agent.id)
