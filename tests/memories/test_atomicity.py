"""A write happens wholly or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from engram.embeddings.base import Passages, Vectors
from engram.problems import UnavailableProblem
from engram.settings import Settings
from tests.fixtures.rows import every_row
from tests.fixtures.spaces import ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened


@dataclass
class ChokingEmbedder(HashEmbedder):
    """Fails at one text."""

    at: str = "poison"

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        if self.at in texts:
            raise UnavailableProblem("choked")
        return await super().embed_passages(texts)


@dataclass
class MeetingEmbedder(HashEmbedder):
    """Answers only once ``guests`` callers wait for it at the same time."""

    guests: int = 50
    barrier: asyncio.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self.barrier = asyncio.Barrier(self.guests)

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        await self.barrier.wait()
        return await super().embed_passages(texts)

    async def embed_query(self, text: str) -> Vectors:
        await self.barrier.wait()
        return await super().embed_query(text)


async def test_a_batch_that_cannot_be_embedded_leaves_no_trace(settings: Settings) -> None:
    async with opened(settings, ChokingEmbedder()) as services:
        space = await new_space(services)
        before = await every_row(services.database)
        with pytest.raises(UnavailableProblem, match="choked"):
            await space.remember_all([{"content": "fine", "entities": ["Zyra"]}, "poison", "also fine"])
        assert await every_row(services.database) == before


async def test_a_batch_with_a_wrong_item_leaves_no_trace(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
        before = await every_row(services.database)
        with pytest.raises(Exception, match=r"items\.1\.embedding"):
            await space.remember_all([{"content": "fine"}, {"content": "short", "embedding": [1.0]}])
        assert await every_row(services.database) == before


async def test_no_connection_is_held_while_text_is_embedded(settings: Settings) -> None:
    few = settings.model_copy(update={"pool_size": 5, "pool_timeout": 5.0})
    async with opened(few, MeetingEmbedder(guests=50)) as services:
        space = await new_space(services)
        written = await asyncio.gather(*(space.remember(f"memory {number}") for number in range(50)))
        assert len({memory.id for memory in written}) == 50
        asked = await asyncio.gather(*(space.ask(f"memory {number}") for number in range(50)))
        assert all(len(answer.results) == 10 for answer in asked)


async def test_one_connection_is_enough(settings: Settings) -> None:
    single = settings.model_copy(update={"pool_size": 1, "pool_timeout": 5.0})
    async with opened(single, HashEmbedder(threshold=-1)) as services:
        space = await new_space(services)
        one, two, three = ids(await space.remember_all(["one", "two", "three"]))
        await asyncio.gather(*(space.remember(f"more {number}", entities=["Zyra"]) for number in range(10)))
        await space.link(one, two, "causal")
        await space.forget(three)
        assert len(await space.edges(one)) > 0
        assert len(await space.hits("one", top_k=50)) == 12
        assert (await space.stats()).pending_links == 0
