"""Many who set, change, delete and restore the same memories at once: nothing acknowledged is lost, and time has no
gaps and no overlaps."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from engram import APIStatusError, AsyncEngram, ConflictError, NotFoundError
from engram.agents.schemas import Agent
from engram.memories.changes.schemas import MemoryVersion
from engram.memories.schemas import Memory, MemoryCreated

WRITERS = 32
ROUNDS = 7
LIMIT = 120
"""Seconds, for what takes some: who waits for a lock for ever is found out."""


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def every_memory(engram: AsyncEngram, agent: Agent) -> dict[str, Memory]:
    return {
        memory.id: memory
        for status in ("current", "superseded", "deleted")
        async for memory in engram.memories.list(agent.id, status=status, limit=200)
    }


async def lines(engram: AsyncEngram, id: str) -> dict[str, list[MemoryVersion]]:
    """What each memory of a line was, the first state first."""
    found: dict[str, list[MemoryVersion]] = defaultdict(list)
    async for version in engram.memories.history(id, limit=200):
        found[version.id].insert(0, version)
    return found


def is_without_gaps(states: Sequence[MemoryVersion]) -> bool:
    """Whether each state was known until the next was, and the last still is."""
    known = all(before.recorded_until == after.updated_at for before, after in pairwise(states))
    return known and states[-1].recorded_until is None and [s.version for s in states] == [*range(1, len(states) + 1)]


async def test_of_what_many_set_at_once_nothing_is_lost_and_one_is_current(engram: AsyncEngram, agent: Agent) -> None:
    async def write(writer: int) -> list[MemoryCreated]:
        return [await engram.memories.set(agent.id, "owner", f"{writer} owns it {at}") for at in range(ROUNDS)]

    async with asyncio.timeout(LIMIT):
        acknowledged = [made for many in await asyncio.gather(*map(write, range(WRITERS))) for made in many]
    assert len({made.id for made in acknowledged}) == WRITERS * ROUNDS

    found = await lines(engram, acknowledged[0].id)
    assert {id: states[0].content for id, states in found.items()} == {made.id: made.content for made in acknowledged}
    assert all(is_without_gaps(states) for states in found.values())
    values = sorted((states[-1] for states in found.values()), key=lambda value: value.valid_from)
    for before, after in pairwise(values):
        assert (before.status, before.superseded_by) == ("superseded", after.id)
        assert before.valid_from < before.valid_until == after.valid_from
        # It was known to end when its successor was known to begin.
        assert before.updated_at == after.recorded_at
    assert (values[-1].status, values[-1].valid_until) == ("current", None)
    assert [memory.id async for memory in engram.memories.list(agent.id)] == [values[-1].id]


async def test_of_updates_of_one_version_at_once_one_wins_and_the_others_are_told(
    engram: AsyncEngram, agent: Agent
) -> None:
    memory: Memory = await engram.memories.create(agent.id, "Dana owns the billing service.")
    for version in range(1, 6):

        async def change(at: int, version: int = version) -> str:
            if at % 4 == 3:
                made = await engram.memories.update(memory.id, tags=[f"{version} {at}"], if_version=version)
            else:
                made = await engram.memories.update(memory.id, content=f"{at} owns {version}", if_version=version)
            return made.tags[0] if at % 4 == 3 else made.content

        async with asyncio.timeout(LIMIT):
            outcomes = await asyncio.gather(*map(change, range(12)), return_exceptions=True)
        (won,) = [outcome for outcome in outcomes if not isinstance(outcome, ConflictError)]
        stands = await engram.memories.get(memory.id)
        assert stands.version == version + 1
        assert won in (stands.content, *stands.tags)
    states = (await lines(engram, memory.id))[memory.id]
    assert is_without_gaps(states)
    assert len({(state.content, *state.tags) for state in states}) == 6


@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_happens_at_once_time_has_no_overlaps(engram: AsyncEngram, agent: Agent, seed: int) -> None:
    chance = random.Random(seed)
    ids = [(await engram.memories.set(agent.id, "owner", f"{at} owns it")).id for at in range(4)]
    ids += [(await engram.memories.create(agent.id, f"{at} is free")).id for at in range(3)]
    statuses: Counter[str] = Counter()
    purged: set[str] = set()

    def deeds(at: int) -> dict[str, Callable[[], Awaitable[Any]]]:
        (id, other), text = chance.sample(ids, 2), f"Said by {at}, who was there."
        return {
            "set": lambda: engram.memories.set(agent.id, "owner", text),
            "set early": lambda: engram.memories.set(agent.id, "owner", text, valid_from=f"2024-0{1 + at % 9}-01"),
            "update": lambda: engram.memories.update(id, content=text),
            "supersede": lambda: engram.memories.supersede(id, text),
            "delete": lambda: engram.memories.delete(id),
            "restore": lambda: engram.memories.restore(id),
            "restore again": lambda: engram.memories.restore(id),
            "edge": lambda: engram.graph.create_edge(id, other, "causal"),
            "purge": lambda: engram.memories.purge(id),
        }

    async def work(worker: int) -> None:
        for at in range(16):
            name, deed = chance.choice([*deeds(100 * worker + at).items()])
            try:
                made = await deed()
            except (ConflictError, NotFoundError) as refused:
                statuses[f"{name} {refused.status_code}"] += 1
            except APIStatusError as failed:
                raise AssertionError(f"{name}: {failed}") from failed
            else:
                statuses[name] += 1
                if name == "purge":
                    purged.add(made.id)
                elif name != "edge" and made.id not in ids:
                    ids.append(made.id)

    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*(work(worker) for worker in range(10)))
    assert {"set", "set early", "update", "supersede", "delete", "restore", "edge", "purge"} <= set(statuses), statuses

    memories = await every_memory(engram, agent)
    assert set(memories) == set(ids) - purged
    for id in memories:
        found = await lines(engram, id)
        assert is_without_gaps(found[id]), id
    assert len([memory for memory in memories.values() if memory.key and memory.status == "current"]) <= 1
    for moment in sorted({memory.valid_from for memory in memories.values() if memory.key}):
        hits = await engram.memories.recall(agent.id, "Who owns it?", as_of=moment, top_k=200)
        held = [hit.id for hit in hits if hit.key]
        assert len(held) <= 1, told(held, await lines(engram, held[0]))


def told(ids: Sequence[str], states: dict[str, list[MemoryVersion]]) -> str:
    """What these memories were, a line for each state."""
    return "\n".join(
        f"{state.id[-4:]} {state.version} {state.status.value} [{state.valid_from:%F %T.%f}, {state.valid_until}) until"
        f" {state.recorded_until} {state.ended_by} {state.superseded_by and state.superseded_by[-4:]}"
        for id in ids
        for state in states[id]
    )
