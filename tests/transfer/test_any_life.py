"""Whatever an agent has lived through, and through whichever hands it goes."""

from __future__ import annotations

import io

import httpx
import pytest

from engram import AsyncEngram, Engram
from tests.fixtures.fuzzing import SEED

from .files import of_type, told
from .lives import live


@pytest.mark.parametrize("seed", range(SEED, SEED + 3))
async def test_it_comes_out_as_it_went_in(engram: AsyncEngram, http: httpx.AsyncClient, seed: int) -> None:
    agent = await engram.agents.create("clerk", language="german", metadata={"a": [1, None, "ü"]}, hop_penalty=0.25)
    await live(engram, agent.id, steps=50, seed=seed)
    first = [line async for line in engram.agents.export(agent.id)]
    beside = await engram.agents.import_(first, name="beside", ids="new")
    kept = io.BytesIO()
    assert await engram.agents.export(beside.id).save(kept) == len(first)
    await engram.agents.delete(agent.id)
    back = await engram.agents.import_(io.BytesIO(b"".join(first)))
    second = b"".join([line async for line in engram.agents.export(back.id)])
    assert told(second) == told(b"".join(first))
    # New ids of new ids: all that differs is ids, and their order is the same.
    third = await engram.agents.import_(engram.agents.export(beside.id), name="third", ids="new")
    last = b"".join([line async for line in engram.agents.export(third.id)])
    for kind in ("memory", "entity"):
        contents = [[line.get("content", line.get("name")) for line in of_type(file, kind)] for file in (second, last)]
        assert contents[0] == contents[1]


def test_blocking_hands_do_the_same(live_server: str) -> None:
    with Engram(live_server) as client:
        agent = client.agent("clerk")
        agent.memories.create("Alice moved to Lisbon.")
        with agent.export() as lines:
            file = list(lines)
        seen: list[int] = []
        assert agent.export(include_embeddings=False).save(io.BytesIO(), progress=seen.append) == len(file)
        assert seen == list(range(1, len(file) + 1))
        copy = client.agents.import_(iter(file), name="cook", ids="new")
        assert (copy.agent.name, copy.counts.memory, copy.embedded) == ("cook", 1, 0)
        with pytest.raises(TypeError, match="str"):
            client.agents.import_("clerk.ndjson")  # type: ignore[arg-type]
